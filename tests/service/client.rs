//! An HTTP/1.1 client on a loopback socket, with one connection per exchange. It reports answers and broken
//! connections of a program.

use std::io::{Error, ErrorKind, Result};
use std::net::SocketAddr;

use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::history::Asked;
use super::{Answer, Event, TIMEOUT};
use super::{contract, corpus};

#[derive(Clone, Copy, Debug)]
pub struct Client {
    pub address: SocketAddr,
}

/// An answer whose body is still to come.
pub struct Opened {
    status: StatusCode,
    headers: HeaderMap,
    stream: BufReader<TcpStream>,
}

impl Client {
    /// Sends a request, reads the answer and checks both against the contract.
    ///
    /// # Errors The connection is refused, broken, or silent for too long.
    pub async fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Result<Answer> {
        let named = |name: &str| headers.iter().find(|(known, _)| *known == name);
        corpus::keep(path, |name| named(name).map(|(_, value)| *value), body);
        let asked = Asked::of(self.address, path, headers);
        let exchange = async {
            let opened = self.open(method, path, headers, body).await?;
            opened.whole().await
        };
        let answer = timeout(TIMEOUT, exchange).await??;
        if let Some(asked) = asked {
            asked.answered(&answer);
        }
        let is_json = headers.contains(&("content-type", "application/json"));
        let path = path.split('?').next().unwrap_or_default();
        contract::check(method, path, is_json.then_some(body), &answer);
        Ok(answer)
    }

    /// Sends a request and reads the head of its answer.
    ///
    /// # Errors The connection is refused or broken.
    pub async fn open(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Result<Opened> {
        let mut stream = TcpStream::connect(self.address).await?;
        let mut head = format!(
            "{method} {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\ncontent-length: {}\r\n",
            self.address,
            body.len()
        );
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("\r\n");
        stream.write_all(head.as_bytes()).await?;
        stream.write_all(body).await?;
        let mut stream = BufReader::new(stream);
        let (status, headers) = read_head(&mut stream).await?;
        Ok(Opened {
            status,
            headers,
            stream,
        })
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.send("GET", path, &[], b"").await.unwrap()
    }

    /// POST of JSON, with a preference such as `wait=30`.
    ///
    /// # Errors The connection is refused or broken.
    pub async fn post(&self, path: &str, body: &Value, prefer: Option<&str>) -> Result<Answer> {
        let mut headers = vec![("content-type", "application/json")];
        headers.extend(prefer.map(|prefer| ("prefer", prefer)));
        let body = body.to_string();
        self.send("POST", path, &headers, body.as_bytes()).await
    }

    /// POST without a body.
    ///
    /// # Errors The connection is refused or broken.
    pub async fn tell(&self, path: &str) -> Result<Answer> {
        self.send("POST", path, &[], b"").await
    }

    /// DELETE.
    ///
    /// # Errors The connection is refused or broken.
    pub async fn delete(&self, path: &str) -> Result<Answer> {
        self.send("DELETE", path, &[], b"").await
    }

    pub async fn submit(&self, body: &Value) -> String {
        let answer = self.post("/v1/jobs", body, None).await.unwrap();
        answer.expect(202).header("location").unwrap().to_owned()
    }

    /// Reads all items of a list, page by page.
    pub async fn every(&self, list: &str) -> Vec<Value> {
        self.every_of(list, "limit=100").await
    }

    /// Reads all items of a list with this query, page by page.
    pub async fn every_of(&self, list: &str, asked: &str) -> Vec<Value> {
        let mut items = Vec::new();
        let mut query = asked.to_owned();
        loop {
            let mut page = self
                .get(&format!("{list}?{query}"))
                .await
                .expect(200)
                .json();
            items.append(page["items"].as_array_mut().unwrap());
            let Some(cursor) = page["next_cursor"].as_str() else {
                return items;
            };
            query = format!("{asked}&cursor={cursor}");
        }
    }

    pub async fn events(&self, path: &str) -> Vec<Event> {
        let answer = self.get(&format!("{path}/events")).await.expect(200);
        answer
            .text()
            .split("\n\n")
            .filter_map(Event::parsed)
            .collect()
    }

    /// A counter or gauge without labels, or 0 before its first change.
    pub async fn metric(&self, name: &str) -> f64 {
        let metrics = self.get("/metrics").await.expect(200);
        let mut lines = metrics.text().lines();
        let value = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        value.map_or(0.0, |value| value.parse().unwrap())
    }

    /// Asks for the end of a job that has not ended.
    pub async fn cancel(&self, path: &str) -> Answer {
        let answer = self.tell(&format!("{path}/cancel")).await;
        answer.unwrap().expect(202)
    }

    pub async fn until_status(&self, path: &str, status: &str) -> Value {
        super::until(&format!("{path} to be {status}"), async || {
            let job = self.get(path).await.expect(200).json();
            (job["status"] == status).then_some(job)
        })
        .await
    }
}

impl Opened {
    pub fn status(&self) -> u16 {
        self.status.as_u16()
    }

    /// The next line of a body that is not framed by a length.
    ///
    /// # Errors The connection breaks.
    pub async fn line(&mut self) -> Result<String> {
        timeout(TIMEOUT, read_line(&mut self.stream)).await?
    }

    /// The next event of a stream, or `None` at its end. Each event is a chunk.
    ///
    /// # Errors The connection breaks before the end.
    pub async fn event(&mut self) -> Result<Option<Event>> {
        let mut block = String::new();
        loop {
            let line = self.line().await?;
            if line == "0" {
                return Ok(None);
            }
            let is_field = ["id: ", "event: ", "data: "]
                .iter()
                .any(|name| line.starts_with(name));
            if is_field {
                block.push_str(&line);
                block.push('\n');
            } else if let Some(event) = Event::parsed(&block).filter(|_| line.is_empty()) {
                return Ok(Some(event));
            }
        }
    }

    async fn whole(mut self) -> Result<Answer> {
        let mut body = Vec::new();
        let length = self.headers.get("content-length");
        if let Some(length) = length.and_then(|value| value.to_str().ok()) {
            body.resize(length.parse().map_err(Error::other)?, 0);
            self.stream.read_exact(&mut body).await?;
        } else if self.headers.contains_key("transfer-encoding") {
            while read_chunk(&mut self.stream, &mut body).await? {}
        } else {
            self.stream.read_to_end(&mut body).await?;
        }
        Ok(Answer {
            status: self.status,
            headers: self.headers,
            body: body.into(),
        })
    }
}

async fn read_head(stream: &mut BufReader<TcpStream>) -> Result<(StatusCode, HeaderMap)> {
    let line = read_line(stream).await?;
    let status = line.split(' ').nth(1).and_then(|text| text.parse().ok());
    let status = status.ok_or_else(|| Error::new(ErrorKind::InvalidData, line.clone()))?;
    let mut headers = HeaderMap::new();
    loop {
        let line = read_line(stream).await?;
        let Some((name, value)) = line.split_once(':') else {
            return Ok((status, headers));
        };
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(Error::other)?;
        headers.append(
            name,
            HeaderValue::from_str(value.trim()).map_err(Error::other)?,
        );
    }
}

/// Reads one chunk of a chunked body. Returns whether more chunks may follow.
async fn read_chunk(stream: &mut BufReader<TcpStream>, body: &mut Vec<u8>) -> Result<bool> {
    let size = read_line(stream).await?;
    let size = usize::from_str_radix(&size, 16).map_err(Error::other)?;
    let start = body.len();
    body.resize(start + size, 0);
    stream.read_exact(&mut body[start..]).await?;
    read_line(stream).await?;
    Ok(size > 0)
}

/// Reads a line without its line ending. The end of the stream is an error.
async fn read_line(stream: &mut BufReader<TcpStream>) -> Result<String> {
    let mut line = String::new();
    stream.read_line(&mut line).await?;
    let text = line.strip_suffix('\n').ok_or(ErrorKind::UnexpectedEof)?;
    Ok(text.trim_end_matches('\r').to_owned())
}
