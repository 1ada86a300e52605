//! The heaviest conjunctions under a list of vectors with counts, with exact weights.
//!
//! The weight of a conjunction is the sum of the counts of the vectors that satisfy it. A further literal only removes
//! vectors. So no extension of a conjunction weighs more than its positive counts alone and, where magnitudes are
//! ranked, its negative counts alone. The search leaves out every extension that cannot displace a kept conjunction.
//!
//! The search goes through the conjunctions by size and then by feature. The vectors of each literal lie in one row
//! of a matrix, and the intersection kernel extends a conjunction by 64 literals at once. The method is Eclat: M. J.
//! Zaki, "Scalable algorithms for association mining", IEEE TKDE 12(3), 2000.

use crate::bits::{BLOCK_ROWS, BitMatrix, WORD_BITS, intersections, last_word_mask, words_for};
use crate::learners::engine::run::{Interrupt, StopFlag};
use crate::learners::kernel::conjunction_kernel::Conjunctions;

/// The most literals of a conjunction in an explanation.
pub const LITERALS_MAX: usize = 3;

/// The work of extending a conjunction by a literal, in words, besides the words of the cover.
const WORDS_BESIDE: usize = 8;

/// Vectors with their counts.
pub struct CountedVectors<'a> {
    pub rows: &'a BitMatrix,
    /// One count per row.
    pub counts: Vec<i64>,
    /// The conjunctions over the features of the rows.
    pub conjunctions: Conjunctions,
}

/// The order of the conjunctions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rank {
    /// The largest magnitude of the weight comes first, and weights of 0 are left out.
    Magnitude,
    /// The largest weight comes first, and weights from 0 down are left out.
    Value,
}

/// The extent of a search.
#[derive(Clone, Copy, Debug)]
pub struct SearchLimits<'a> {
    /// Conjunctions to find.
    pub top: usize,
    pub rank: Rank,
    /// The fewest and the most literals of a conjunction.
    pub sizes: (usize, usize),
    /// Words of work. A size that would take more is left out.
    pub words_max: u64,
    pub stop: &'a StopFlag,
}

/// The result of a search.
#[derive(Clone, Debug)]
pub struct Heaviest {
    /// The conjunctions in their order. Equal ranks stand in the order of the search.
    pub conjunctions: Vec<Conjunction>,
    /// The most literals of the conjunctions that were compared.
    pub size: usize,
}

/// A conjunction of literals. No shorter or earlier conjunction of the search covers the same vectors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conjunction {
    /// The literals in the order of their features.
    pub literals: Vec<VectorLiteral>,
    pub sums: Sums,
    /// The covered vectors.
    cover: Vec<u64>,
}

/// A feature or its complement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VectorLiteral {
    /// Index of the feature, from 0.
    pub feature: usize,
    pub is_negated: bool,
}

/// The counts of the vectors that satisfy a conjunction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// The sum of the positive counts.
    pub positive: u64,
    /// The magnitude of the sum of the negative counts.
    pub negative: u64,
}

impl Sums {
    /// The weight of the conjunction.
    pub fn weight(self) -> i64 {
        self.positive as i64 - self.negative as i64
    }

    fn add(&mut self, factor: i64, vectors: u32) {
        let sum = factor.unsigned_abs() * u64::from(vectors);
        match factor > 0 {
            true => self.positive += sum,
            false => self.negative += sum,
        }
    }
}

impl Rank {
    fn of(self, sums: Sums) -> i64 {
        match self {
            Self::Magnitude => sums.weight().abs(),
            Self::Value => sums.weight(),
        }
    }

    /// An upper bound on the rank of the conjunction and of all its extensions.
    fn bound(self, sums: Sums) -> i64 {
        match self {
            Self::Magnitude => sums.positive.max(sums.negative) as i64,
            Self::Value => sums.positive as i64,
        }
    }
}

/// Finds the heaviest conjunctions. If several cover the same vectors, it finds only the first in the order of the
/// search, which is the shortest.
///
/// # Errors
/// The interrupt that stopped the search. After the first two sizes, a time limit is no error but leaves out the
/// sizes that are not complete.
pub fn heaviest(
    vectors: &CountedVectors<'_>,
    limits: SearchLimits<'_>,
) -> Result<Heaviest, Interrupt> {
    let class = Class::of_literals(vectors, limits.stop)?;
    let mut search = Search {
        limits,
        words_left: limits.words_max,
        kept: Vec::new(),
    };
    let (least, most) = limits.sizes;
    if least == 0 {
        search.offer(Vec::new(), Sums::of(&vectors.counts), || {
            class.whole_cover()
        });
    }
    if most == 0 {
        return Ok(search.found(0));
    }
    for (member, &literal) in class.literals.iter().enumerate() {
        search.offer(vec![literal], class.sums[member], || class.cover(member));
    }
    for size in 2..=most {
        let kept = search.kept.clone();
        match search.visit(&class, &[], size) {
            Ok(()) => {}
            Err(SearchEnd::Words | SearchEnd::Interrupt(Interrupt::TimeLimit)) => {
                search.kept = kept;
                return Ok(search.found(size - 1));
            }
            Err(SearchEnd::Interrupt(interrupt)) => return Err(interrupt),
        }
    }
    Ok(search.found(most))
}

impl Sums {
    fn of(counts: &[i64]) -> Self {
        let mut sums = Self::default();
        counts.iter().for_each(|&count| sums.add(count, 1));
        sums
    }
}

/// Literals, each with the vectors that satisfy the literal and all literals of one prefix.
struct Class {
    literals: Vec<VectorLiteral>,
    sums: Vec<Sums>,
    planes: Vec<Plane>,
}

/// The vectors whose counts have one binary digit and one sign in common. A count occurs once per binary digit, so
/// the vectors contribute their number times the factor to a sum.
struct Plane {
    /// The value of the digit with the sign.
    factor: i64,
    /// One row per literal, one bit per vector.
    covers: BitMatrix,
}

impl Class {
    /// All literals of the vectors, with an empty prefix.
    fn of_literals(vectors: &CountedVectors<'_>, stop: &StopFlag) -> Result<Self, Interrupt> {
        let n = vectors.rows.n();
        let negations: &[bool] = match vectors.conjunctions {
            Conjunctions::All => &[false, true],
            Conjunctions::Monotone => &[false],
        };
        let literals = (0..n).flat_map(|feature| {
            let literal = move |&is_negated| VectorLiteral {
                feature,
                is_negated,
            };
            negations.iter().map(literal)
        });
        let literals: Vec<_> = literals.collect();
        let mut sums = vec![Sums::default(); literals.len()];
        let mut planes = Vec::new();
        for (digit, is_positive) in (0..63).flat_map(|digit| [(digit, true), (digit, false)]) {
            let factor = if is_positive { 1 } else { -1 } << digit;
            let counts = vectors.counts.iter().enumerate();
            let has_digit = |&(_, &count): &(usize, &i64)| {
                (count > 0) == is_positive && count.unsigned_abs() >> digit & 1 == 1
            };
            let members: Vec<_> = counts.filter(has_digit).map(|(row, _)| row).collect();
            if members.is_empty() {
                continue;
            }
            let covers = transposed(vectors.rows, &members, negations.len() > 1, stop)?;
            for (literal, sums) in sums.iter_mut().enumerate() {
                let block = covers.block(literal / BLOCK_ROWS);
                let words =
                    (0..covers.words_per_row()).map(|at| block.word(at, literal % BLOCK_ROWS));
                sums.add(factor, words.map(u64::count_ones).sum());
            }
            planes.push(Plane { factor, covers });
        }
        Ok(Self {
            literals,
            sums,
            planes,
        })
    }

    /// Words of all planes per literal.
    fn words_per_literal(&self) -> usize {
        let words = self.planes.iter().map(|plane| plane.covers.words_per_row());
        words.sum()
    }

    /// The cover of a conjunction that all vectors satisfy.
    fn whole_cover(&self) -> Vec<u64> {
        let ones = |plane: &Plane| all_ones(plane.covers.n());
        self.planes.iter().flat_map(ones).collect()
    }

    /// The covered vectors of a member, plane by plane.
    fn cover(&self, member: usize) -> Vec<u64> {
        let mut cover = vec![0; self.words_per_literal()];
        let mut rest = &mut *cover;
        for plane in &self.planes {
            let (own, others) = rest.split_at_mut(plane.covers.words_per_row());
            let block = plane.covers.block(member / BLOCK_ROWS);
            block.copy_row(member % BLOCK_ROWS, own);
            rest = others;
        }
        cover
    }

    /// The sums of the conjunctions of a member, given by its cover, with each later member.
    fn joint_sums(&self, member: usize, cover: &[u64]) -> Vec<Sums> {
        let first = member + 1;
        let mut sums = vec![Sums::default(); self.literals.len() - first];
        let mut counts = [0; BLOCK_ROWS];
        let mut rest = cover;
        for plane in &self.planes {
            let (own, others) = rest.split_at(plane.covers.words_per_row());
            for index in first / BLOCK_ROWS..self.literals.len().div_ceil(BLOCK_ROWS) {
                let block = plane.covers.block(index);
                intersections(block, own, &mut counts);
                let start = index * BLOCK_ROWS;
                for row in first.saturating_sub(start)..block.rows() {
                    sums[start + row - first].add(plane.factor, counts[row]);
                }
            }
            rest = others;
        }
        sums
    }

    /// The class of some members under a prefix that is longer by the literal with this cover.
    fn extended(&self, members: &[(usize, Sums)], cover: &[u64]) -> Self {
        let mut rest = cover;
        let planes = self.planes.iter().map(|plane| {
            let (own, others) = rest.split_at(plane.covers.words_per_row());
            rest = others;
            let mut covers = BitMatrix::new(plane.covers.n());
            let mut row = vec![0; own.len()];
            for (member, _) in members {
                let block = plane.covers.block(member / BLOCK_ROWS);
                block.copy_row(member % BLOCK_ROWS, &mut row);
                row.iter_mut().zip(own).for_each(|(word, own)| *word &= own);
                covers.push_row(&row);
            }
            let factor = plane.factor;
            Plane { factor, covers }
        });
        Self {
            planes: planes.collect(),
            literals: members.iter().map(|&(at, _)| self.literals[at]).collect(),
            sums: members.iter().map(|&(_, sums)| sums).collect(),
        }
    }
}

/// The words of `n` ones.
fn all_ones(n: usize) -> Vec<u64> {
    let mut words = vec![u64::MAX; words_for(n)];
    if let Some(last) = words.last_mut() {
        *last = last_word_mask(n);
    }
    words
}

/// One row per feature with a bit per member row. With `complements`, each feature is followed by its
/// complement.
fn transposed(
    rows: &BitMatrix,
    members: &[usize],
    complements: bool,
    stop: &StopFlag,
) -> Result<BitMatrix, Interrupt> {
    let ones = all_ones(members.len());
    let mut transposed = BitMatrix::new(members.len());
    for word in 0..rows.words_per_row() {
        if let Some(interrupt) = stop.raised() {
            return Err(interrupt);
        }
        let mut features = vec![vec![0; ones.len()]; WORD_BITS.min(rows.n() - word * WORD_BITS)];
        for (place, row) in members.iter().enumerate() {
            let mut bits = rows.block(row / BLOCK_ROWS).word(word, row % BLOCK_ROWS);
            while bits != 0 {
                let feature = bits.trailing_zeros() as usize;
                features[feature][place / WORD_BITS] |= 1 << (place % WORD_BITS);
                bits &= bits - 1;
            }
        }
        for mut feature in features {
            transposed.push_row(&feature);
            if complements {
                feature
                    .iter_mut()
                    .zip(&ones)
                    .for_each(|(word, ones)| *word ^= ones);
                transposed.push_row(&feature);
            }
        }
    }
    Ok(transposed)
}

/// The reason why a size is not complete.
enum SearchEnd {
    /// The words of work are used up.
    Words,
    Interrupt(Interrupt),
}

struct Search<'a> {
    limits: SearchLimits<'a>,
    words_left: u64,
    /// The heaviest conjunctions so far, in their order.
    kept: Vec<Conjunction>,
}

impl Search<'_> {
    fn found(self, size: usize) -> Heaviest {
        let conjunctions = self.kept;
        Heaviest { conjunctions, size }
    }

    /// The rank that a new conjunction must exceed. Ties come later in the search, so they lose.
    fn rank_to_exceed(&self) -> i64 {
        match self.kept.last() {
            Some(last) if self.kept.len() >= self.limits.top => self.limits.rank.of(last.sums),
            _ => 0,
        }
    }

    fn can_enter(&self, sums: Sums) -> bool {
        self.limits.rank.bound(sums) > self.rank_to_exceed()
    }

    /// Keeps a conjunction if it is heavy enough and no kept one covers the same vectors.
    fn offer(
        &mut self,
        literals: Vec<VectorLiteral>,
        sums: Sums,
        cover: impl FnOnce() -> Vec<u64>,
    ) {
        let rank = self.limits.rank.of(sums);
        if rank <= self.rank_to_exceed() {
            return;
        }
        let cover = cover();
        if self
            .kept
            .iter()
            .any(|kept| kept.sums == sums && kept.cover == cover)
        {
            return;
        }
        let place = self
            .kept
            .partition_point(|kept| self.limits.rank.of(kept.sums) >= rank);
        let conjunction = Conjunction {
            literals,
            sums,
            cover,
        };
        self.kept.insert(place, conjunction);
        self.kept.truncate(self.limits.top);
    }

    /// Visits the conjunctions of a prefix and `size >= 2` members of its class.
    fn visit(
        &mut self,
        class: &Class,
        prefix: &[VectorLiteral],
        size: usize,
    ) -> Result<(), SearchEnd> {
        for (member, &own) in class.sums.iter().enumerate() {
            if !self.can_enter(own) {
                continue;
            }
            let cover = class.cover(member);
            self.charge(class, member)?;
            let joint = class.joint_sums(member, &cover);
            // If a conjunction has the sums of a shorter one, both cover the same vectors, and so do their
            // extensions.
            let later = joint.into_iter().zip(member + 1..);
            let shortest = later.filter(|&(sums, other)| sums != own && sums != class.sums[other]);
            let prefix = [prefix, &[class.literals[member]]].concat();
            if size == 2 {
                for (sums, other) in shortest {
                    let literals = || [&*prefix, &[class.literals[other]]].concat();
                    if self.limits.rank.of(sums) > self.rank_to_exceed() {
                        self.offer(literals(), sums, || both(class.cover(other), &cover));
                    }
                }
            } else {
                let entering = shortest.filter(|&(sums, _)| self.can_enter(sums));
                let members: Vec<_> = entering.map(|(sums, other)| (other, sums)).collect();
                let extended = class.extended(&members, &cover);
                self.visit(&extended, &prefix, size - 1)?;
            }
        }
        Ok(())
    }

    /// Counts the work of extending a member by the later members.
    fn charge(&mut self, class: &Class, member: usize) -> Result<(), SearchEnd> {
        let later = (class.literals.len() - member) as u64;
        let words = later * (class.words_per_literal() + WORDS_BESIDE) as u64;
        let left = self.words_left.checked_sub(words);
        self.words_left = left.ok_or(SearchEnd::Words)?;
        self.limits
            .stop
            .raised()
            .map_or(Ok(()), |stop| Err(SearchEnd::Interrupt(stop)))
    }
}

/// The vectors in both covers.
fn both(mut cover: Vec<u64>, other: &[u64]) -> Vec<u64> {
    cover
        .iter_mut()
        .zip(other)
        .for_each(|(word, other)| *word &= other);
    cover
}
