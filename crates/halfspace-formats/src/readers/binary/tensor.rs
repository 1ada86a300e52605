//! Tensors of the Open Inference Protocol, version 2: examples as a list of numbers, flat or nested, or as the octets
//! of the protocol's binary extension.
//!
//! One tensor holds all examples in the shape `[rows, n]`, or a single example in the shape `[n]`. The model fixes n
//! before the body is read, so a list goes straight into the sample. Its datatype and shape may follow it in the
//! body, so we compare them at the end. Source: <https://github.com/kserve/open-inference-protocol>.

use std::fmt;
use std::io::Read;

use halfspace_core::bits::WORD_BITS;
use halfspace_core::learners::sample::data::{Data, Features, RealMatrix};
use serde::Deserialize;
use serde::de::{self, DeserializeSeed, Deserializer, SeqAccess, Visitor};

use crate::building::parsed::Parsed;
use crate::building::sample_builder::SampleBuilder;
use crate::error::{Fault, FormatError, FormatErrorKind, Place};
use crate::options::{LabelsColumn, Options, ParseLimits, UnlabelledMeans};
use crate::readers::binary::npy;
use crate::readers::binary::npy_header::NpyHeader;
use crate::readers::binary::tensor_datatype::{Datatype, Written};
use crate::readers::binary::tensor_elements::{bits, blanks, element, short_bits};
use crate::readers::json::scope;
use crate::readers::json::window::SharedWindow;

/// Pointer to the list of the one tensor in a request.
const AT: &str = "/inputs/0/data";

/// Values of a tensor in JSON, before they are compared with the datatype and the shape.
pub struct TensorList {
    builder: SampleBuilder,
    n: usize,
    /// Numbers read.
    values: u64,
    /// Number of rows read, if the list is nested.
    rows: Option<u64>,
    /// The first row whose length is not n, and this length. Values after it are not kept.
    ragged: Option<(u64, u64)>,
    /// For each datatype, the first value that the datatype does not allow.
    misfits: [Option<DatatypeMismatch>; Datatype::ALL.len()],
}

/// A value that a datatype does not allow.
#[derive(Clone, Copy, Debug)]
struct DatatypeMismatch {
    /// Position in the flattened list.
    index: u64,
    written: Written,
}

impl TensorList {
    fn new(limits: &ParseLimits, n: usize) -> Result<Self, Fault> {
        Ok(Self {
            builder: SampleBuilder::new(limits, Some(n), None)?,
            n,
            values: 0,
            rows: None,
            ragged: None,
            misfits: [None; Datatype::ALL.len()],
        })
    }

    /// Converts the list to `rows` examples of n features each. `is_matrix` tells whether the shape has two
    /// dimensions. If it has one, the list must not be nested.
    ///
    /// # Errors
    /// A value that the datatype does not allow, or a list that does not match the shape.
    pub fn into_parsed(
        self,
        datatype: Datatype,
        rows: u64,
        is_matrix: bool,
    ) -> Result<Parsed, FormatError> {
        if let Some(misfit) = self.misfits[datatype as usize] {
            let detail = datatype.refusal(misfit.written);
            let place = Place::Pointer(self.pointer(misfit.index));
            return Err(Fault::new(FormatErrorKind::BadValue, detail).placed(Some(place)));
        }
        let n = self.n as u64;
        let wrong =
            |at: String, detail: String| Err(wrong_shape(&detail).placed(Some(Place::Pointer(at))));
        if let Some((row, length)) = self.ragged {
            let detail =
                format!("The row has {length} numbers, but its length by the shape is {n}.");
            return wrong(format!("{AT}/{row}"), detail);
        }
        match self.rows {
            Some(_) if !is_matrix => {
                let detail = format!("The shape [{n}] needs one list of numbers, without rows.");
                return wrong(AT.to_owned(), detail);
            }
            Some(found) if found != rows => {
                let detail = format!(
                    "The data have {found} rows, but the shape has {rows}; correct `shape`."
                );
                return wrong(AT.to_owned(), detail);
            }
            _ => {}
        }
        if rows.checked_mul(n) != Some(self.values) {
            let found = self.values;
            let detail = format!(
                "The data have {found} numbers, but the shape has {rows} * {n}; correct `shape`."
            );
            return wrong(AT.to_owned(), detail);
        }
        let parsed = self.builder.finish(UnlabelledMeans::Nothing)?;
        Ok(match datatype {
            Datatype::Fp32 => rounded(parsed.in_memory()),
            _ => parsed.in_memory(),
        })
    }

    fn pointer(&self, index: u64) -> String {
        let n = self.n as u64;
        match self.rows {
            Some(_) => format!("{AT}/{}/{}", index / n, index % n),
            None => format!("{AT}/{index}"),
        }
    }

    fn push(&mut self, written: Written) -> Result<(), Fault> {
        let value = written.value();
        let index = self.values;
        self.values += 1;
        let is_bit = matches!(written, Written::Number(_)) && (value == 0.0 || value == 1.0);
        if !is_bit {
            for datatype in Datatype::ALL {
                let known = &mut self.misfits[datatype as usize];
                if known.is_none() && !datatype.has(written) {
                    *known = Some(DatatypeMismatch { index, written });
                }
            }
        }
        if self.builder.value(value)? {
            let place = Place::Pointer(self.pointer(index));
            self.builder.note_first_real(place);
        }
        Ok(())
    }
}

/// Rounds each number to the nearest 32-bit float. JSON may write a 32-bit float with too few digits to identify the
/// same double, but the rounded number equals the one in the binary extension.
fn rounded(parsed: Parsed) -> Parsed {
    let Features::Real(matrix) = parsed.data.features() else {
        return parsed;
    };
    let values = matrix.values().iter();
    let values = values.map(|&value| f64::from(value as f32)).collect();
    let matrix = RealMatrix::from_values(matrix.n(), values);
    Parsed {
        data: Data::new(Features::Real(matrix), parsed.data.labels().clone()),
        ..parsed
    }
}

/// Reads a tensor of `rows` examples from its octets, which are the rest of the body from byte `first_byte`
/// on.
///
/// # Errors
/// A value that is not finite or not exact as a double, with its row and column. Octets that end early or
/// continue after the last row.
pub fn read_tensor_octets(
    mut reader: impl Read,
    datatype: Datatype,
    rows: u64,
    n: usize,
    first_byte: u64,
    limits: &ParseLimits,
) -> Result<Parsed, FormatError> {
    let header = NpyHeader {
        kind: datatype.kind(),
        rows,
        columns: n as u64,
        bytes: first_byte,
    };
    let options = Options {
        labels: Some(LabelsColumn::None),
        n: Some(n),
        unlabelled: UnlabelledMeans::Nothing,
        limits: limits.clone(),
        ..Options::default()
    };
    Ok(npy::parse_values(&mut reader, &header, &options, None)?.in_memory())
}

impl<'de> Deserialize<'de> for TensorList {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let tensor = scope::tensor();
        let tensor = tensor.ok_or_else(|| de::Error::custom("a tensor is not allowed here"))?;
        let list = Self::new(&scope::limits(), tensor.n).map_err(scope::raise)?;
        deserializer.deserialize_seq(List(list, tensor.window))
    }
}

/// Reads the whole list.
struct List(TensorList, SharedWindow);

impl<'de> Visitor<'de> for List {
    type Value = TensorList;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of numbers, or of lists of numbers")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<TensorList, A::Error> {
        let Self(mut list, window) = self;
        list.take_elements(&window, None, b'[').map_err(raise_at)?;
        while let Some(()) = seq.next_element_seed(Item {
            list: &mut list,
            window: &window,
            in_row: None,
        })? {
            if list.rows.is_none() {
                list.take_elements(&window, None, b',').map_err(raise_at)?;
            }
        }
        window.borrow_mut().elements_hidden = 0;
        Ok(list)
    }
}

/// A fault, and the position of the faulty element in the innermost list.
type InList = (u64, Fault);

fn raise_at<E: de::Error>((at, fault): InList) -> E {
    scope::raise_below(fault, &format!("/{at}"))
}

impl TensorList {
    /// Takes plain elements from the window before the parser reads them, and returns their number. `in_row` counts
    /// the elements of the row so far, or is `None` outside of rows. The byte `after` comes before an element: a
    /// bracket at the beginning of the list, and a comma later, where a bracket would be a fault that the parser must
    /// see.
    fn take_elements(
        &mut self,
        window: &SharedWindow,
        in_row: Option<u64>,
        after: u8,
    ) -> Result<u64, InList> {
        let mut window = window.borrow_mut();
        let text = window.pending();
        // The parser took the comma after a number, but not the comma after a word.
        let is_after_word = window.last() == b'e';
        let start = match (window.last(), blanks(text)) {
            (last, _) if last == after => 0,
            (b'e', blanks) if text.get(blanks) == Some(&b',') => blanks + 1,
            _ => return Ok(0),
        };
        let (mut at, mut taken) = (start, 0);
        // Packed bits have no line feeds between them.
        let mut has_lines = start > 0;
        loop {
            let before = in_row.map(|before| before + taken);
            let rest = &text[at..];
            if let Some((word, count, bytes)) = self.bits_of_row(rest, before) {
                self.builder.push_bits(word, count);
                self.values += count as u64;
                at += bytes;
                taken += count as u64;
                let ended = self.end_flat_row(before);
                ended.map_err(|fault| (self.values - 1, fault))?;
            } else if let Some((written, bytes)) = element(rest) {
                let place = before.unwrap_or(self.values);
                self.add(written, before).map_err(|fault| (place, fault))?;
                at += bytes;
                taken += 1;
                has_lines = true;
            } else {
                break;
            }
        }
        if taken > 0 {
            // A comma stays between the word and the next element.
            let bytes = at - usize::from(is_after_word);
            window.hide(bytes, taken as usize, has_lines);
        }
        Ok(taken)
    }

    /// Reads the next elements as bits of the same word of a row. Returns the bits, their number and the bytes of the
    /// elements.
    fn bits_of_row(&self, text: &[u8], before: Option<u64>) -> Option<(u64, usize, usize)> {
        let filled = match before {
            Some(before) => before,
            None => self.values % self.n as u64,
        } as usize;
        if self.ragged.is_some() || filled >= self.n || !self.builder.takes_bits() {
            return None;
        }
        let count = (WORD_BITS - filled % WORD_BITS).min(self.n - filled);
        if count == WORD_BITS
            && let Some((word, bytes)) = bits(text)
        {
            return Some((word, WORD_BITS, bytes));
        }
        // The first word is a misfit of all other datatypes, and the later ones are none.
        let is_known = |datatype: &Datatype| self.misfits[*datatype as usize].is_some();
        let has_words = Datatype::ALL[1..].iter().all(is_known);
        let (word, count, bytes) = short_bits(text, count, has_words);
        (count > 0).then_some((word, count, bytes))
    }

    /// Adds an element. `before` counts the elements of its row before it, or is `None` outside of rows.
    fn add(&mut self, written: Written, before: Option<u64>) -> Result<(), Fault> {
        // Values after the end of a row, or after a row of another length, are not kept.
        if before.is_some_and(|before| self.ragged.is_some() || before >= self.n as u64) {
            return Ok(());
        }
        self.push(written)?;
        self.end_flat_row(before)
    }

    /// Ends a row of a flat list if it is whole.
    fn end_flat_row(&mut self, before: Option<u64>) -> Result<(), Fault> {
        match before.is_none() && self.values.is_multiple_of(self.n as u64) {
            true => self.builder.end_row(None),
            false => Ok(()),
        }
    }
}

/// Reads a number, or a row of numbers at the top level.
struct Item<'b> {
    list: &'b mut TensorList,
    window: &'b SharedWindow,
    /// Numbers before this one in its row, or `None` outside of rows.
    in_row: Option<u64>,
}

impl Item<'_> {
    fn number<E: de::Error>(self, written: Written) -> Result<(), E> {
        if self.in_row.is_none() && self.list.rows.is_some() {
            return Err(scope::raise(wrong_shape(
                "The list mixes numbers and lists.",
            )));
        }
        let added = self.list.add(written, self.in_row);
        added.map_err(scope::raise)
    }
}

impl<'de> DeserializeSeed<'de> for Item<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Item<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.in_row {
            None => "a number, true, false or a list of them",
            Some(_) => "a number, true or false",
        })
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<(), E> {
        self.number(Written::Truth(value))
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<(), E> {
        self.number(Written::whole(value, value as f64))
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<(), E> {
        self.number(Written::whole(value.unsigned_abs(), value as f64))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<(), E> {
        self.number(Written::Number(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        let list = &mut *self.list;
        if self.in_row.is_some() {
            return Err(scope::raise(wrong_shape("Lists are nested too deeply.")));
        }
        if list.rows.is_none() && list.values > 0 {
            return Err(scope::raise(wrong_shape(
                "The list mixes lists and numbers.",
            )));
        }
        let row = *list.rows.get_or_insert(0);
        let below_row = |error: InList| {
            // The parser has an element of the list of rows, and none of the row.
            self.window.borrow_mut().elements_hidden = 0;
            raise_at(error)
        };
        let mut length = list
            .take_elements(self.window, Some(0), b'[')
            .map_err(below_row)?;
        while let Some(()) = seq.next_element_seed(Item {
            list: &mut *list,
            window: self.window,
            in_row: Some(length),
        })? {
            length += 1;
            let taken = list.take_elements(self.window, Some(length), b',');
            length += taken.map_err(below_row)?;
        }
        self.window.borrow_mut().elements_hidden = 0;
        list.rows = Some(row + 1);
        if list.ragged.is_some() {
            return Ok(());
        }
        if length != list.n as u64 {
            list.ragged = Some((row, length));
            return Ok(());
        }
        list.builder.end_row(None).map_err(scope::raise)
    }
}

fn wrong_shape(detail: &str) -> Fault {
    Fault::new(FormatErrorKind::WrongShape, detail)
}
