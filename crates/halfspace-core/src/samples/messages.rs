//! Short messages of three kinds, each made of phrases.

use rand::RngExt;

use super::sample::{Rows, Sample};
use crate::learners::engine::random::{Generator, Purpose};
use crate::learners::linear::perceptron;

/// Phrases of a meeting, an order and a journey.
const OF_A_KIND: [[&str; 8]; 3] = [
    [
        "the meeting moves to ten",
        "who takes the minutes",
        "the agenda is attached",
        "we need a larger room",
        "can you present the figures on Monday",
        "the team meets every week",
        "bring the report to the discussion",
        "your colleague cannot attend",
    ],
    [
        "the parcel has not arrived",
        "send me an invoice",
        "I want my money back",
        "the box was open and empty",
        "is this article still in stock",
        "the price is lower in your shop",
        "I ordered two and got one",
        "where do I return the shoes",
    ],
    [
        "the train leaves at seven",
        "I booked a hotel near the station",
        "do not forget your passport",
        "the flight is late again",
        "we stay for three nights",
        "a seat at the window would be nice",
        "pack something warm for the mountains",
        "the museum is closed on Monday",
    ],
];

/// Phrases that messages of every kind have.
const OF_ALL: [&str; 8] = [
    "thank you",
    "please answer today",
    "see you soon",
    "I am sorry for the delay",
    "call me if you can",
    "hello again",
    "that is all for now",
    "what do you think",
];

pub(super) const SAMPLE: Sample = Sample {
    name: "messages",
    title: "Messages about meetings, orders and journeys",
    description: "m short messages. Each joins one or two phrases of its class with one or two common phrases, in \
                  random order.",
    source: "Phrases of this project.",
    classes: &["meeting", "order", "journey"],
    options: &[("kinds", "message:text")],
    parameters: &["m", "noise", "seed"],
    learner: perceptron::ENTRY.name,
    learner_parameters: &[],
    rows: |settings| {
        let mut random = settings.seed.generator(Purpose::Examples);
        let row = |_| {
            let class = random.random_range(0..OF_A_KIND.len());
            (vec![message(class, &mut random).into()], class)
        };
        Rows {
            columns: vec!["message".to_owned()],
            rows: (0..settings.m).map(row).collect(),
        }
    },
};

fn message(class: usize, random: &mut Generator) -> String {
    let mut phrases = Vec::new();
    for from in [&OF_A_KIND[class], &OF_ALL] {
        for _ in 0..random.random_range(1..=2) {
            let place = random.random_range(0..=phrases.len());
            phrases.insert(place, from[random.random_range(0..from.len())]);
        }
    }
    let mut message = String::new();
    for phrase in phrases {
        if !message.is_empty() {
            message.push(' ');
        }
        let mut characters = phrase.chars();
        message.extend(
            characters
                .next()
                .iter()
                .flat_map(|first| first.to_uppercase()),
        );
        message.push_str(characters.as_str());
        message.push(['.', '!', '?'][random.random_range(0..3)]);
    }
    message
}
