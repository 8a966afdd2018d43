/** Tests the selection of objects and their file paths. */
import { expect, test } from 'vitest'
import { choose, matchesGlob, unsafeBecause } from './select.ts'

const lake = { url: '', container: 'lake', globRoot: 's3/lake/' }
const everything = { place: { ...lake, key: 'raw/', recursive: true }, match: [], exclude: [], flat: false }
const one = { place: { ...lake, key: 'raw/a', recursive: false }, match: [], exclude: [], flat: false }

test.each([
  { key: 'raw/a/b', selection: everything, want: { kind: 'file', path: 'a/b' } },
  { key: 'raw/', selection: everything, want: { kind: 'left-out' } },
  { key: 'raw/a/', selection: everything, want: { kind: 'folder', path: 'a' } },
  { key: 'raw/a/', selection: { ...everything, flat: true }, want: { kind: 'left-out' } },
  { key: 'raw/a/b', selection: { ...everything, flat: true }, want: { kind: 'file', path: 'b' } },
  { key: 'raw/a', selection: one, want: { kind: 'file', path: 'a' } },
  { key: 'raw/a/b', selection: { ...everything, match: ['a/*'] }, want: { kind: 'file', path: 'a/b' } },
  { key: 'raw/a/b', selection: { ...everything, match: ['b'] }, want: { kind: 'left-out' } },
  { key: 'raw/..', selection: everything, want: { kind: 'unsafe', reason: 'contains ..' } },
  { key: 'raw/../a/', selection: everything, want: { kind: 'unsafe', reason: 'contains ..' } },
  { key: 'raw/a\\..\\b', selection: everything, want: { kind: 'file', path: 'a\\..\\b' } },
  { key: 'raw/a/b', selection: { ...everything, exclude: ['a/*'] }, want: { kind: 'left-out' } },
  {
    key: 'raw/a/b',
    selection: { ...everything, match: ['a/*'], exclude: ['*/c'] },
    want: { kind: 'file', path: 'a/b' },
  },
  { key: 'raw/..', selection: { ...everything, exclude: ['..'] }, want: { kind: 'left-out' } },
  {
    key: 'raw/a/',
    size: 5,
    selection: everything,
    want: { kind: 'unsafe', reason: 'has data, but its name ends with a slash' },
  },
  {
    key: 'raw/',
    size: 5,
    selection: everything,
    want: { kind: 'left-out', reason: 'has data, but its name ends with a slash' },
  },
  { key: 'raw/', size: 5, selection: { ...everything, exclude: ['*/raw/'] }, want: { kind: 'left-out' } },
  { key: 'raw/', size: 5, selection: { ...everything, match: ['*/a'] }, want: { kind: 'left-out' } },
  { key: 'raw/a/', size: 5, selection: { ...everything, exclude: ['a/'] }, want: { kind: 'left-out' } },
])('$key ($size bytes) becomes $want', ({ key, size = 0, selection, want }) => {
  expect(choose({ key, size }, selection)).toEqual(want)
})

test.each([
  { path: 'é'.repeat(127), want: undefined },
  { path: 'é'.repeat(128), want: 'has a part of more than 255 bytes' },
  { path: '\uD800', want: 'is not valid Unicode' },
  { path: Array.from({ length: 100 }, () => 'x'.repeat(40)).join('/'), want: 'is longer than 3000 bytes' },
])('a path that $want', ({ path, want }) => {
  expect(unsafeBecause(path)).toBe(want)
})

test.each([
  { glob: '*', text: 'a/b', want: true },
  { glob: '', text: '', want: true },
  { glob: '', text: 'a', want: false },
  { glob: '*0_1*', text: 'x/train_0_1.bin', want: true },
  { glob: '*0_1*', text: 'x/train_1_0.bin', want: false },
  { glob: 'a?c', text: 'abc', want: true },
  { glob: 'a?c', text: 'ac', want: false },
  { glob: '*a*b', text: 'aabab', want: true },
  { glob: '*a*b', text: 'aaba', want: false },
  { glob: 'a**', text: 'a', want: true },
  { glob: '[ab]', text: 'a', want: false },
  { glob: `${'*a'.repeat(20)}b`, text: 'a'.repeat(2000), want: false },
])('the glob $glob and $text: $want', ({ glob, text, want }) => {
  expect(matchesGlob(glob, text)).toBe(want)
})
