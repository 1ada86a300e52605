use std::io::{self, Read};

/// A body that comes a few bytes at a time.
pub struct Pieces<'a> {
    pub body: &'a [u8],
    pub piece: usize,
}

impl Read for Pieces<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let wanted = buffer.len().min(self.piece);
        self.body.read(&mut buffer[..wanted])
    }
}
