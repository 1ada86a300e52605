//! Parquet files for tests: by the writer of the crate `parquet`, and by hand, so that they can lie.

use std::sync::Arc;

use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType, DoubleType, FixedLenByteArray,
    FixedLenByteArrayType, FloatType, Int32Type, Int64Type, Int96, Int96Type,
};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;

/// The values of a column, `None` for a missing one.
#[derive(Clone, Debug)]
pub enum Column {
    Booleans(Vec<Option<bool>>),
    Int32(Vec<Option<i32>>),
    Int64(Vec<Option<i64>>),
    /// Days from 1970-01-01.
    Int96(Vec<Option<i64>>),
    Floats(Vec<Option<f32>>),
    Doubles(Vec<Option<f64>>),
    Bytes(Vec<Option<Vec<u8>>>),
    Fixed(Vec<Option<Vec<u8>>>),
}

/// Texts as bytes.
pub fn texts(texts: &[&str]) -> Column {
    let text = |text: &&str| (!text.is_empty()).then(|| text.as_bytes().to_vec());
    Column::Bytes(texts.iter().map(text).collect())
}

/// Writes row groups of columns. The schema states the fields of a message, as in `optional int32 a`.
pub fn written(fields: &str, groups: &[Vec<Column>], properties: WriterProperties) -> Vec<u8> {
    let schema = Arc::new(parse_message_type(&format!("message m {{ {fields}; }}")).expect(fields));
    let mut writer =
        SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties)).expect("a writer");
    for columns in groups {
        let mut group = writer.next_row_group().expect("a row group");
        for column in columns {
            write(&mut group, column);
        }
        group.close().expect("a row group");
    }
    writer.into_inner().expect("a file")
}

fn write(group: &mut SerializedRowGroupWriter<'_, Vec<u8>>, column: &Column) {
    let bytes = |values: &[Option<Vec<u8>>]| -> Vec<Option<ByteArray>> {
        let value = |value: &Option<Vec<u8>>| value.clone().map(ByteArray::from);
        values.iter().map(value).collect()
    };
    match column {
        Column::Booleans(values) => push::<BoolType>(group, values),
        Column::Int32(values) => push::<Int32Type>(group, values),
        Column::Int64(values) => push::<Int64Type>(group, values),
        Column::Floats(values) => push::<FloatType>(group, values),
        Column::Doubles(values) => push::<DoubleType>(group, values),
        Column::Int96(values) => {
            // The julian day of 1970-01-01.
            let day = |day: i64| (day + 2_440_588) as u32;
            let value =
                |value: &Option<i64>| value.map(|value| Int96::from(vec![0, 0, day(value)]));
            push::<Int96Type>(group, &values.iter().map(value).collect::<Vec<_>>());
        }
        Column::Bytes(values) => push::<ByteArrayType>(group, &bytes(values)),
        Column::Fixed(values) => {
            let values = bytes(values).into_iter();
            let values: Vec<_> = values
                .map(|value| value.map(FixedLenByteArray::from))
                .collect();
            push::<FixedLenByteArrayType>(group, &values);
        }
    }
}

fn push<T: DataType>(group: &mut SerializedRowGroupWriter<'_, Vec<u8>>, values: &[Option<T::T>]) {
    let levels: Vec<i16> = values
        .iter()
        .map(|value| i16::from(value.is_some()))
        .collect();
    let present: Vec<T::T> = values.iter().flatten().cloned().collect();
    let mut column = group.next_column().expect("a column").expect("a column");
    column
        .typed::<T>()
        .write_batch(&present, Some(&levels), Some(&vec![0; levels.len()]))
        .expect("values");
    column.close().expect("a column");
}

/// A struct of Thrift under construction. Fields come in ascending order, each at most 15 after the one before.
#[derive(Clone, Default)]
pub struct Message {
    bytes: Vec<u8>,
    last: u8,
}

pub fn unsigned(mut number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}

impl Message {
    fn field(mut self, number: u8, kind: u8, content: &[u8]) -> Self {
        self.bytes.push((number - self.last) << 4 | kind);
        self.bytes.extend_from_slice(content);
        self.last = number;
        self
    }

    pub fn integer(self, number: u8, value: i64) -> Self {
        self.field(number, 6, &unsigned((value << 1 ^ value >> 63) as u64))
    }

    pub fn text(self, number: u8, text: &str) -> Self {
        let content = [unsigned(text.len() as u64), text.into()].concat();
        self.field(number, 8, &content)
    }

    pub fn message(self, number: u8, message: Self) -> Self {
        self.field(number, 12, &message.ended())
    }

    pub fn list(self, number: u8, messages: &[Self]) -> Self {
        let items = messages.iter().flat_map(|message| message.clone().ended());
        let content = [vec![0xfc], unsigned(messages.len() as u64), items.collect()].concat();
        self.field(number, 9, &content)
    }

    pub fn ended(mut self) -> Vec<u8> {
        self.bytes.push(0);
        self.bytes
    }
}

/// A file of one column, written by hand.
#[derive(Clone)]
pub struct Raw {
    /// The number of the physical type, and the bytes of a value of fixed length.
    pub physical: i64,
    pub length: i64,
    pub is_optional: bool,
    pub codec: i64,
    pub rows: i64,
    pub pages: Vec<(Message, Vec<u8>)>,
}

impl Raw {
    pub fn bytes(&self) -> Vec<u8> {
        let mut file = b"PAR1".to_vec();
        for (header, content) in &self.pages {
            file.extend(header.clone().ended());
            file.extend_from_slice(content);
        }
        let pages = file.len() as i64 - 4;
        let content = Message::default()
            .integer(1, self.physical)
            .integer(4, self.codec)
            .integer(5, self.rows)
            .integer(6, pages)
            .integer(7, pages)
            .integer(9, 4);
        let chunk = Message::default().integer(2, 4).message(3, content);
        let group = Message::default()
            .list(1, &[chunk])
            .integer(2, pages)
            .integer(3, self.rows);
        let root = Message::default().text(4, "m").integer(5, 1);
        let column = Message::default()
            .integer(1, self.physical)
            .integer(2, self.length)
            .integer(3, i64::from(self.is_optional))
            .text(4, "x");
        let footer = Message::default()
            .integer(1, 1)
            .list(2, &[root, column])
            .integer(3, self.rows)
            .list(4, &[group]);
        ended(file, footer)
    }
}

/// Ends a file with its footer.
pub fn ended(mut file: Vec<u8>, footer: Message) -> Vec<u8> {
    let footer = footer.ended();
    file.extend_from_slice(&footer);
    file.extend((footer.len() as u32).to_le_bytes());
    file.extend_from_slice(b"PAR1");
    file
}

/// The header of a page of data with these sizes, as version 1 has it.
pub fn data_page(size: i64, content: &[u8], values: i64, encoding: i64) -> (Message, Vec<u8>) {
    let data = Message::default()
        .integer(1, values)
        .integer(2, encoding)
        .integer(3, 3)
        .integer(4, 3);
    let header = Message::default()
        .integer(1, 0)
        .integer(2, size)
        .integer(3, content.len() as i64)
        .message(5, data);
    (header, content.to_vec())
}

/// The header of a dictionary with these sizes.
pub fn dictionary_page(size: i64, content: &[u8], values: i64) -> (Message, Vec<u8>) {
    let dictionary = Message::default().integer(1, values).integer(2, 0);
    let header = Message::default()
        .integer(1, 2)
        .integer(2, size)
        .integer(3, content.len() as i64)
        .message(7, dictionary);
    (header, content.to_vec())
}
