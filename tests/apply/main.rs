//! The careful hand: every kind over every kind, nothing outside, nobody's edit lost, whole after any crash.

mod conflicts;
mod crash;
mod kinds;
mod modes;
mod outside;
mod parts;
mod race;
mod world;
