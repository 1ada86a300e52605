//! The point nearest to 0 in the convex hull of a sample, in exact integers: for maximum margins that f64 cannot
//! settle, and for the examples at the margin.
//!
//! P. Wolfe, "Finding the nearest point in a polytope" (1976). If the norm includes the bias, the nearest point of the
//! hull of the vectors a_i is the weight vector of largest margin. If it excludes the bias, the vertices of the hull
//! are the differences between a positive and a negative example, in which the bias cancels.
//!
//! The method keeps a few vertices and the nearest point of the flat through them. The lowest vertex in the direction
//! of this point enters. Vertices leave if the next nearest point would give them a negative weight. In exact
//! arithmetic the distance decreases with every vertex that enters, and the kept vertices are affinely independent, so
//! the method terminates. Because the integers grow, it stops early at limits on coordinates, vertices and work. It
//! then returns the point that it has reached.

use num_bigint::BigInt;
use num_traits::{One, Signed, Zero};

use crate::learners::engine::run::{Interrupt, Run};

use super::examples::{SignedExamples, look};
use super::proved_margin::Norm;
use super::rounding::reduce;

/// Approximate limit on word products in the systems of equations. Beyond it, which takes seconds, no vertex enters.
const WORK_MAX: u64 = 1 << 29;

/// Largest number of vertices that enter.
const ENTRIES_MAX: usize = 2000;

/// Largest number of coordinates for which vertices enter, because the integers grow with every coordinate.
const COORDINATES_MAX: usize = 64;

/// A point is near enough if no vertex is lower than the point by more than a fraction 2^-33.
const NEAR_ENOUGH_BITS: u32 = 33;

/// How near the point must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nearness {
    /// Near enough for weights in f64.
    Enough,
    /// The nearest point itself.
    Exact,
}

/// A point of the hull, in units of 2^-shift of the examples.
pub struct HullPoint {
    /// The point times `total`.
    pub point: Vec<BigInt>,
    /// Positive common denominator of the point.
    pub total: BigInt,
    /// The point itself if it separates the sample, else the given separator.
    pub direction: Vec<BigInt>,
    /// The least inner product of `direction` with a vertex, above 0.
    pub least_product: BigInt,
    /// Whether no point of the hull is nearer.
    pub is_nearest: bool,
}

/// The point of the hull nearest to 0 for a sample that `separator` separates. If the method reaches one of its
/// limits, the point is only near the optimum.
///
/// # Errors
/// Returns the interrupt if the run stops.
pub fn nearest_hull_point(
    examples: &SignedExamples<'_>,
    separator: &[BigInt],
    norm: Norm,
    nearness: Nearness,
    run: &Run,
) -> Result<HullPoint, Interrupt> {
    let coordinates = norm.squared(examples.coordinates());
    let separator = &separator[..coordinates];
    let (least_of_separator, first) = lowest_vertex(examples, separator, norm, run)?;
    let entries_max = match coordinates <= COORDINATES_MAX {
        true => ENTRIES_MAX,
        false => 0,
    };
    let mut kept = Corral {
        vertices: vec![first],
        weights: vec![BigInt::one()],
        work: 0,
    };
    let mut entries = 0;
    loop {
        let (point, total) = kept.point();
        let (least_product, vertex) = lowest_vertex(examples, &point, norm, run)?;
        let square = dot(&point, &point);
        let lowest = &least_product * &total;
        let is_nearest = lowest >= square;
        let is_near = is_nearest
            || nearness == Nearness::Enough && lowest + (&square >> NEAR_ENOUGH_BITS) >= square;
        if is_near || entries == entries_max || kept.work > WORK_MAX {
            let (direction, least_product) = match least_product.is_positive() {
                true => (point.clone(), least_product),
                false => (separator.to_vec(), least_of_separator),
            };
            return Ok(HullPoint {
                point,
                total,
                direction,
                least_product,
                is_nearest,
            });
        }
        kept.enter(vertex, run)?;
        entries += 1;
    }
}

/// The least inner product of a vertex with `direction`, and that vertex.
fn lowest_vertex(
    examples: &SignedExamples<'_>,
    direction: &[BigInt],
    norm: Norm,
    run: &Run,
) -> Result<(BigInt, Vec<BigInt>), Interrupt> {
    let mut weights = direction.to_vec();
    weights.resize(examples.coordinates(), BigInt::zero());
    let mut lowest: [Option<(BigInt, usize)>; 2] = [None, None];
    examples.for_each_product(&weights, run, |index, product| {
        let kind = match norm {
            Norm::WithBias => 0,
            Norm::WithoutBias => usize::from(examples.is_negative(index)),
        };
        if lowest[kind]
            .as_ref()
            .is_none_or(|(least, _)| product < *least)
        {
            lowest[kind] = Some((product, index));
        }
    })?;
    let mut vertex = vec![BigInt::zero(); examples.coordinates()];
    let mut least = BigInt::zero();
    for (product, index) in lowest.into_iter().flatten() {
        least += product;
        examples.column(index).add_to(&mut vertex, &BigInt::one());
    }
    vertex.truncate(direction.len());
    Ok((least, vertex))
}

/// Affinely independent vertices with integer weights. All weights are positive except that of an entering
/// vertex.
struct Corral {
    vertices: Vec<Vec<BigInt>>,
    weights: Vec<BigInt>,
    /// Approximate number of word products so far.
    work: u64,
}

impl Corral {
    /// The weighted sum of the vertices, and the sum of the weights.
    fn point(&self) -> (Vec<BigInt>, BigInt) {
        let mut point = vec![BigInt::zero(); self.vertices[0].len()];
        for (vertex, weight) in self.vertices.iter().zip(&self.weights) {
            for (sum, value) in point.iter_mut().zip(vertex) {
                *sum += value * weight;
            }
        }
        (point, self.weights.iter().sum())
    }

    /// Adds a vertex and moves to the nearest point of a flat whose simplex contains that point.
    fn enter(&mut self, vertex: Vec<BigInt>, run: &Run) -> Result<(), Interrupt> {
        self.vertices.push(vertex);
        self.weights.push(BigInt::zero());
        loop {
            let wanted = nearest_of_flat(&self.vertices, run)?;
            let words = wanted.iter().map(BigInt::bits).max().unwrap_or(0) / 64 + 1;
            let cubed = (self.vertices.len() as u64).pow(3);
            self.work = self
                .work
                .saturating_add(cubed.saturating_mul(words * words));
            if wanted.iter().all(Signed::is_positive) {
                self.weights = wanted;
                return Ok(());
            }
            self.move_towards(&wanted);
        }
    }

    /// Moves towards the weights `wanted` until the first weight reaches 0, then removes the vertices of weight 0.
    fn move_towards(&mut self, wanted: &[BigInt]) {
        let (own_total, wanted_total): (BigInt, BigInt) =
            (self.weights.iter().sum(), wanted.iter().sum());
        // The share of the way is own / (own - wanted) for the vertex that reaches 0 first.
        let mut share: Option<(BigInt, BigInt)> = None;
        for (own, wanted) in self.weights.iter().zip(wanted) {
            if !wanted.is_positive() {
                let part = own * &wanted_total;
                let whole = &part - wanted * &own_total;
                let is_sooner = share
                    .as_ref()
                    .is_none_or(|(least, of)| &part * of < least * &whole);
                if is_sooner && whole.is_positive() {
                    share = Some((part, whole));
                }
            }
        }
        let (part, whole) = share.expect("a vertex with a weight that is to fall to 0");
        let rest = (&whole - &part) * &wanted_total;
        let gained = part * own_total;
        for (own, wanted) in self.weights.iter_mut().zip(wanted) {
            *own = &*own * &rest + wanted * &gained;
        }
        let mut stays = self.weights.iter().map(Signed::is_positive);
        self.vertices
            .retain(|_| stays.next().expect("a weight of each vertex"));
        self.weights.retain(Signed::is_positive);
        reduce(&mut self.weights);
    }
}

/// The weights of the point nearest to 0 on the flat through affinely independent vertices. Some may be negative, but
/// their sum is positive.
fn nearest_of_flat(vertices: &[Vec<BigInt>], run: &Run) -> Result<Vec<BigInt>, Interrupt> {
    let first = &vertices[0];
    let difference = |vertex: &Vec<BigInt>| -> Vec<BigInt> {
        vertex.iter().zip(first).map(|(v, f)| v - f).collect()
    };
    let edges: Vec<Vec<BigInt>> = vertices[1..].iter().map(difference).collect();
    // The point is orthogonal to every edge. Each row holds a row of the Gram matrix and the right side.
    let mut rows = Vec::with_capacity(edges.len());
    for edge in &edges {
        look(run)?;
        let products = edges.iter().map(|other| dot(edge, other));
        let row: Vec<BigInt> = products.chain([-dot(edge, first)]).collect();
        rows.push(row);
    }
    // Fraction-free pivots (E. H. Bareiss, 1968). The pivots are leading minors of a positive definite matrix
    // and therefore positive.
    let mut determinant = BigInt::one();
    for pivot in 0..rows.len() {
        let base = rows[pivot].clone();
        for (index, row) in rows.iter_mut().enumerate() {
            look(run)?;
            if index != pivot {
                let factor = row[pivot].clone();
                for (entry, of_base) in row.iter_mut().zip(&base) {
                    *entry = (&*entry * &base[pivot] - &factor * of_base) / &determinant;
                }
            }
        }
        determinant = base[pivot].clone();
    }
    let of_edges: Vec<BigInt> = rows.into_iter().filter_map(|mut row| row.pop()).collect();
    let of_first = determinant - of_edges.iter().sum::<BigInt>();
    let mut weights: Vec<BigInt> = [of_first].into_iter().chain(of_edges).collect();
    reduce(&mut weights);
    Ok(weights)
}

fn dot(one: &[BigInt], other: &[BigInt]) -> BigInt {
    one.iter().zip(other).map(|(a, b)| a * b).sum()
}
