//! What people and programs take from keima: formats for papers, pictures, events, traces, and digits in other programs.

mod events;
mod logs;
mod papers;
mod plot;
mod tools;
mod traces;
