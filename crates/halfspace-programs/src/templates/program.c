@@ table head
 *
 * `predict` labels one row. As a program, this file reads CSV from standard input and writes one label per row.
 * Compile: cc -O2 -o predict FILE.c */
@@ names head
 *
 * `predict` labels one example, given by its names. As a program, this file reads CSV from standard input and writes
 * one label per example. The first line is row,name,value, and each other line has one name of an example. The lines
 * of an example have the same row and follow each other. An empty value means 1, and an empty name none.
 * Compile: cc -O2 -o predict FILE.c */
@@ imports
#include <locale.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A feature with its value. */
struct entry { size_t feature; double value; };

@@ columns
/* A spelling of a truth value: e is the text, a the text in any case, n any spelling of the number. */
struct word { char kind; const char *text; double number; };

/* Kinds: f is a flag, v has one feature per value, n is a number, t has one feature per threshold. */
struct column {
    const char *name;
    size_t place, first;
    long missing;
    int is_of_numbers;
    char kind;
    size_t count;
    const char *const *values;
    const double *thresholds;
    const struct word *off, *on;
    double off_value;
};

@@ sum

typedef int64_t score_type;

/* The sum of the weights of the features that are 1 and the constant. */
static score_type score(size_t member, const struct entry *x, size_t count) {
    int64_t sum = CONSTANTS[member];
    for (size_t k = 0; k < count; k++)
        if (x[k].value != 0) sum += WEIGHTS[member][x[k].feature];
    return sum;
}
@@ kernel

typedef int64_t score_type;

/* The sum of the labels times the kernels. */
static score_type score(size_t member, const struct entry *x, size_t count) {
    static unsigned char is_one[FEATURES];
    int64_t sum = 0;
    size_t active = 0;
    for (size_t k = 0; k < count; k++) active += is_one[x[k].feature] = x[k].value != 0;
    for (size_t i = STARTS[member]; i < STARTS[member + 1]; i++) {
        size_t shared = 0;
        for (size_t k = 0; k < SUPPORT[i].count; k++) shared += is_one[SUPPORT[i].ones[k]];
        if (COUNTS_AGREEMENTS) shared = FEATURES + 2 * shared - SUPPORT[i].count - active;
        sum += SUPPORT[i].net * KERNEL[shared];
    }
    for (size_t k = 0; k < count; k++) is_one[x[k].feature] = 0;
    return sum;
}
@@ real

typedef double score_type;

/*
 * The products are added in lanes, and the upper half of the lanes is added to the lower half until one lane is left.
 * `volatile` prevents fused operations.
 */
static score_type score(size_t member, const struct entry *x, size_t count) {
    double sums[LANES] = {0};
    for (size_t k = 0; k < count; k++) {
        volatile double product = WEIGHTS[member][x[k].feature] * x[k].value;
        sums[x[k].feature % LANES] += product;
    }
    for (size_t half = LANES / 2; half > 0; half /= 2)
        for (size_t lane = 0; lane < half; lane++) sums[lane] += sums[lane + half];
    volatile double mean = sums[0] / DIVISOR;
    volatile double sum = mean + OFFSETS[member];
    return sum;
}
@@ reading

/* The place of the label: whether the only score is at least 0, or the first class with the largest score. */
static size_t decide(const struct entry *x, size_t count) {
    size_t best = 0;
    score_type largest = score(0, x, count);
    for (size_t member = 1; member < MEMBERS; member++) {
        score_type own = score(member, x, count);
        if (own > largest) {
            largest = own;
            best = member;
        }
    }
    return MEMBERS == 1 ? largest >= 0 : best;
}

/* Reads the finite number that a text spells. Returns 0 for other texts. */
static int number(const char *text, double *value) {
    const char *at = text + (*text == '+' || *text == '-');
    size_t digits = strspn(at, "0123456789");
    at += digits;
    if (*at == '.') {
        size_t fraction = strspn(at + 1, "0123456789");
        digits += fraction;
        at += 1 + fraction;
    }
    if (digits == 0) return 0;
    if (*at == 'e' || *at == 'E') {
        at += 1 + (at[1] == '+' || at[1] == '-');
        size_t exponent = strspn(at, "0123456789");
        if (exponent == 0) return 0;
        at += exponent;
    }
    if (*at != 0) return 0;
    *value = strtod(text, 0);
    return *value - *value == 0;
}

static char *trimmed(char *text) {
    text += strspn(text, " \t\n\r\f");
    size_t length = strlen(text);
    while (length > 0 && strchr(" \t\n\r\f", text[length - 1]) != 0) length--;
    text[length] = 0;
    return text;
}

/* Skips lines of blanks, which are no rows. A quoted empty cell is a row. */
static char *skip(char *text) {
    for (;;) {
        char *end = text + strspn(text, " \t\r\f");
        if (*end == 0) return end;
        if (*end != '\n') return text;
        text = end + 1;
    }
}

/* Splits a row of CSV in place. Returns the place after the row, and counts the cells. */
static char *split(char *text, char ***cells, size_t *count, size_t *room) {
    *count = 0;
    int is_odd = 0;
    for (;;) {
        char *begin = text, *out = text;
        int is_quoted = 0;
        for (; *text != 0; text++) {
            is_odd ^= *text == '"';
            if (*text == '"' && is_quoted && text[1] == '"') *out++ = *text++, is_odd ^= 1;
            else if (*text == '"' && (is_quoted || out == begin)) is_quoted = !is_quoted;
            else if (!is_quoted && (*text == ',' || *text == '\n')) break;
            else *out++ = *text;
        }
        if (*count == *room) {
            *room = *room == 0 ? 64 : 2 * *room;
            *cells = realloc(*cells, *room * sizeof **cells);
            if (*cells == 0) exit(2);
        }
        char end = *text;
        *out = 0;
        (*cells)[(*count)++] = begin;
        if (end != 0) text++;
        if (end == ',') continue;
        if (is_odd) {
            fprintf(stderr, "a quote is not closed\n");
            exit(1);
        }
        return text;
    }
}

static char *read_all(void) {
    size_t length = 0, room = 1 << 16;
    char *text = malloc(room + 1);
    while (text != 0) {
        size_t got = fread(text + length, 1, room - length, stdin);
        if (got == 0) break;
        length += got;
        if (length == room) text = realloc(text, (room *= 2) + 1);
    }
    if (text == 0) exit(2);
    text[length] = 0;
    if (memchr(text, 0, length) != 0) {
        fprintf(stderr, "the file contains the character U+0000\n");
        exit(1);
    }
    return text;
}

@@ table

static int is_among(const char *cell, const char *const *words) {
    for (; *words != 0; words++)
        if (strcmp(cell, *words) == 0) return 1;
    return 0;
}

static int is_word(const char *cell, const struct word *words) {
    double value;
    for (; words->kind != 0; words++) {
        if (words->kind == 'n') {
            if (number(cell, &value) && value == words->number) return 1;
            continue;
        }
        const char *a = cell, *b = words->text;
        for (; *a != 0 && *b != 0; a++, b++)
            if (*a != *b && !(words->kind == 'a' && *a >= 'A' && *a <= 'Z' && *a + 32 == *b)) break;
        if (*a == 0 && *b == 0) return 1;
    }
    return 0;
}

/* Sets the features of a cell. Returns the fault of the cell, or 0. */
static const char *encode(const struct column *column, const char *cell, double *x) {
    double value;
    if (*cell == 0 || is_among(cell, MISSING) || (column->is_of_numbers && is_among(cell, MISSING_AMONG_NUMBERS))) {
        if (column->missing < 0) return "a cell is missing";
        x[column->missing] = 1;
        return 0;
    }
    switch (column->kind) {
    case 'v':
        for (size_t i = 0; i < column->count; i++) {
            if (strcmp(cell, column->values[i]) == 0) {
                x[column->first + i] = 1;
                return 0;
            }
        }
        return "the value is unknown";
    case 'f':
        if (is_word(cell, column->on)) x[column->first] = 1;
        else if (is_word(cell, column->off)) x[column->first] = column->off_value;
        else return "the value is unknown";
        return 0;
    default:
        if (!number(cell, &value)) return "the value is not a number";
        if (column->kind == 'n') x[column->first] = value == -1 ? MINUS_ONE : value;
        else
            for (size_t i = 0; i < column->count && value >= column->thresholds[i]; i++) x[column->first + i] = 1;
        return 0;
    }
}

/* Labels a row, given by the cells of the columns of TABLE. Returns 0 and sets the fault and the column if a cell has no
 * features. */
const char *predict(const char *const *cells, const char **fault, size_t *column) {
    static double values[FEATURES];
    static struct entry x[FEATURES];
    for (size_t j = 0; j < FEATURES; j++) values[j] = REST;
    for (size_t i = 0; i < COLUMNS; i++) {
        *fault = encode(&TABLE[i], cells[i], values);
        *column = i;
        if (*fault != 0) return 0;
    }
    for (size_t j = 0; j < FEATURES; j++) x[j] = (struct entry){j, values[j]};
    return CLASSES[decide(x, FEATURES)];
}

/* Finds the columns of TABLE in a file whose first row this is. */
static void find(char **cells, size_t count, size_t *places) {
    for (size_t i = 0; i < COLUMNS; i++) {
        places[i] = count == FILE_COLUMNS ? TABLE[i].place : i;
        if (!HAS_NAMES) continue;
        size_t found = 0;
        for (size_t k = 0; k < count; k++)
            if (strcmp(cells[k], TABLE[i].name) == 0) places[i] = k, found++;
        if (found != 1) {
            fprintf(stderr, "the file has %s %s\n", found == 0 ? "no column" : "several columns", TABLE[i].name);
            exit(1);
        }
    }
    if (!HAS_NAMES && count != FILE_COLUMNS && count != COLUMNS) {
        fprintf(stderr, "a row has %zu cells instead of %d or %d\n", count, FILE_COLUMNS, COLUMNS);
        exit(1);
    }
}

int main(void) {
    setlocale(LC_ALL, "C");
    char *text = read_all(), **cells = 0;
    if (strncmp(text, "\xef\xbb\xbf", 3) == 0) text += 3;
    static size_t places[COLUMNS];
    static const char *own[COLUMNS];
    size_t count, width = 0, room = 0, row = 0;
    while (*(text = skip(text)) != 0) {
        text = split(text, &cells, &count, &room);
        for (size_t i = 0; i < count; i++) cells[i] = trimmed(cells[i]);
        if (width == 0) {
            find(cells, count, places);
            width = count;
            if (HAS_NAMES) continue;
        }
        row++;
        if (count != width) {
            fprintf(stderr, "row %zu: the row has %zu cells instead of %zu\n", row, count, width);
            return 1;
        }
        for (size_t i = 0; i < COLUMNS; i++) own[i] = cells[places[i]];
        const char *fault;
        size_t column;
        const char *label = predict(own, &fault, &column);
        if (label == 0) {
            fprintf(stderr, "row %zu: column %s: %s: %s\n", row, TABLE[column].name, fault, own[column]);
            return 1;
        }
        puts(label);
    }
    return 0;
}
@@ names

/* A name of an example with its value. */
struct named { const char *name; double value; };

static int by_name(const void *one, const void *other) {
    return strcmp(((const struct named *)one)->name, ((const struct named *)other)->name);
}

/* The feature of a name. The last one stands for every name that the model does not know. */
static size_t feature_of(const char *name) {
    size_t low = 0, high = NAMES_COUNT;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(name, NAMES[middle]);
        if (order == 0) return middle;
        if (order < 0) high = middle;
        else low = middle + 1;
    }
    return FEATURES - 1;
}

/* Labels an example, whose names it sorts. Returns 0 and sets the fault and the name if the model does not take it. */
const char *predict(struct named *names, size_t count, const char **fault, const char **name) {
    static struct entry *x;
    static size_t room;
    size_t active = 0;
    qsort(names, count, sizeof *names, by_name);
    if (count > room) {
        x = realloc(x, (room = count) * sizeof *x);
        if (x == 0) exit(2);
    }
    for (size_t i = 0; i < count; i++) {
        double value = names[i].value;
        int is_again = i > 0 && strcmp(names[i - 1].name, names[i].name) == 0;
        *name = names[i].name;
        *fault = is_again && names[i - 1].value != value ? "the name has two values" : 0;
        if (value - value != 0 || (IS_PRESENCE && value != 0 && value != 1)) *fault = "the model takes no such value";
        if (*fault != 0) return 0;
        if (!is_again && value != 0) x[active++] = (struct entry){feature_of(*name), value};
    }
    return CLASSES[decide(x, active)];
}

/* Writes the label of a row. */
static void tell(const char *row, struct named *names, size_t count) {
    const char *fault, *name, *label = predict(names, count, &fault, &name);
    if (label == 0) {
        fprintf(stderr, "row %s: name %s: %s\n", row, name, fault);
        exit(1);
    }
    puts(label);
}

int main(void) {
    setlocale(LC_ALL, "C");
    char *text = read_all(), **cells = 0;
    if (strncmp(text, "\xef\xbb\xbf", 3) == 0) text += 3;
    struct named *names = 0;
    const char *row = 0;
    size_t count, cell_room = 0, active = 0, room = 0;
    for (size_t line = 0; *(text = skip(text)) != 0; line++) {
        text = split(text, &cells, &count, &cell_room);
        if (count != 3) {
            fprintf(stderr, "after row %s: a line has %zu cells instead of 3\n", row == 0 ? "" : row, count);
            return 1;
        }
        const char *value = trimmed(cells[2]);
        if (line == 0) {
            if (strcmp(cells[0], "row") == 0 && strcmp(cells[1], "name") == 0 && strcmp(value, "value") == 0) continue;
            fprintf(stderr, "the first line is not row,name,value\n");
            return 1;
        }
        if (row != 0 && strcmp(row, cells[0]) != 0) tell(row, names, active), active = 0;
        row = cells[0];
        if (active == room) {
            names = realloc(names, (room = room == 0 ? 64 : 2 * room) * sizeof *names);
            if (names == 0) return 2;
        }
        names[active] = (struct named){cells[1], 1};
        if (*value != 0 && !number(value, &names[active].value)) {
            fprintf(stderr, "row %s: name %s: %s is not a number\n", row, cells[1], value);
            return 1;
        }
        if (*cells[1] != 0) active++;
    }
    if (row != 0) tell(row, names, active);
    return 0;
}
