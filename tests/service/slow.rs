//! A slow client, which sends a body in pieces, reads late, and may use another loopback address.

use std::io::Result;
use std::net::SocketAddr;
use std::str;

use tokio::io::{AsyncReadExt, AsyncWriteExt, Interest};
use tokio::net::{TcpSocket, TcpStream};

/// Approximate number of bytes that the system buffers for a client that does not read.
const RECEIVE_BUFFER: u32 = 16 * 1024;

const HEAD_END: &[u8] = b"\r\n\r\n";

/// One connection and the bytes read so far.
pub struct Slow {
    stream: TcpStream,
    read: Vec<u8>,
}

impl Slow {
    /// Connects from an address and sends the head of a request.
    ///
    /// # Errors The connection is refused or broken.
    pub async fn open(
        from: [u8; 4],
        to: SocketAddr,
        line: &str,
        headers: &[(&str, &str)],
    ) -> Result<Self> {
        let mut opened = Self::connect(from, to).await?;
        let mut head = format!("{line} HTTP/1.1\r\nhost: {to}\r\n");
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("\r\n");
        opened.send(head.as_bytes()).await?;
        Ok(opened)
    }

    /// Connects from an address and sends nothing.
    ///
    /// # Errors The connection is refused or broken.
    pub async fn connect(from: [u8; 4], to: SocketAddr) -> Result<Self> {
        let socket = TcpSocket::new_v4()?;
        socket.set_recv_buffer_size(RECEIVE_BUFFER)?;
        socket.bind(SocketAddr::from((from, 0)))?;
        let stream = socket.connect(to).await?;
        let read = Vec::new();
        Ok(Self { stream, read })
    }

    /// Waits without reading until the server ends the connection.
    ///
    /// # Errors The error of the ended connection.
    pub async fn broken(&self) -> Result<()> {
        loop {
            self.stream.ready(Interest::ERROR).await?;
            if let Some(error) = self.stream.take_error()? {
                return Err(error);
            }
        }
    }

    /// Sends bytes as they are.
    ///
    /// # Errors The connection is broken.
    pub async fn send(&mut self, bytes: &[u8]) -> Result<()> {
        self.stream.write_all(bytes).await
    }

    /// Sends a chunk of a body whose head has `transfer-encoding: chunked`.
    ///
    /// # Errors The connection is broken.
    pub async fn chunk(&mut self, text: &str) -> Result<()> {
        let chunk = format!("{:x}\r\n{text}\r\n", text.len());
        self.send(chunk.as_bytes()).await
    }

    /// Reads the next bytes and returns the number of bytes read so far.
    ///
    /// # Errors The connection ends first.
    pub async fn read_on(&mut self) -> Result<usize> {
        match self.stream.read_buf(&mut self.read).await? {
            0 => Err(std::io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(self.read.len()),
        }
    }

    /// Reads until the answer contains `text`, and returns everything read so far.
    ///
    /// # Errors The connection ends first.
    pub async fn until(&mut self, text: &str) -> Result<&str> {
        loop {
            if String::from_utf8_lossy(&self.read).contains(text) {
                return str::from_utf8(&self.read).map_err(std::io::Error::other);
            }
            self.read_on().await?;
        }
    }

    /// Waits for the head and returns the status of the answer.
    ///
    /// # Errors The connection ends first.
    pub async fn status(&mut self) -> Result<u16> {
        let head = self.until("\r\n\r\n").await?;
        let status = head.split(' ').nth(1).and_then(|text| text.parse().ok());
        status.ok_or_else(|| std::io::ErrorKind::InvalidData.into())
    }

    /// Reads to the end of the answer and returns everything read. The answer ends with the last chunk, by its
    /// length, or with the connection.
    pub async fn whole(mut self) -> Vec<u8> {
        while !self.is_whole() {
            match self.stream.read_buf(&mut self.read).await {
                Ok(0) | Err(_) => break,
                Ok(_) => {}
            }
        }
        self.read
    }

    fn is_whole(&self) -> bool {
        let Some(end) = self.head_end() else {
            return false;
        };
        let (head, body) = self.read.split_at(end);
        let head = String::from_utf8_lossy(head);
        let mut fields = head.lines().filter_map(|line| line.split_once(": "));
        let length = fields.find(|(name, _)| name.eq_ignore_ascii_case("content-length"));
        match length.and_then(|(_, value)| value.parse::<usize>().ok()) {
            Some(length) => body.len() >= length,
            None => body.ends_with(b"0\r\n\r\n"),
        }
    }

    /// Offset at which the body begins.
    fn head_end(&self) -> Option<usize> {
        let mut windows = self.read.windows(HEAD_END.len());
        Some(windows.position(|window| window == HEAD_END)? + HEAD_END.len())
    }
}
