/** From a review to the bytes of a body: as an API server writes it, or with what only a text can have. */
import type { Random } from '../random.ts'
import { writeNumbers } from './odd-values.ts'

type Edit = (text: string, random: Random) => string | Buffer

/** A body of the review. A value that cannot be written as JSON gives an empty body. */
export function encodeBody(review: unknown, random: Random): Buffer {
  const text = writeNumbers(stringify(review))
  const body = random.chance(0.12) ? random.pick(EDITS)(text, random) : text
  return Buffer.isBuffer(body) ? body : Buffer.from(body)
}

/** Stands for what is nested more deeply than the stack of this process allows to write. */
const TOO_DEEP = '[['

/** Whether the body has a number that no JSON of this process can write, and no API server sends. */
export function hasInfiniteNumber(body: Buffer): boolean {
  return body.includes('1e400')
}

export function isNestedTooDeeply(body: Buffer): boolean {
  return body.equals(Buffer.from(TOO_DEEP))
}

export function stringify(value: unknown): string {
  try {
    return JSON.stringify(value) ?? ''
  } catch (error) {
    if (error instanceof RangeError) return TOO_DEEP
    throw error
  }
}

const EDITS: readonly Edit[] = [
  (text, random) => text.slice(0, random.below(text.length + 1)),
  (text, random) => text.slice(random.below(text.length)),
  (text, random) => text + random.pick(['}', ']', ' ', '\n\n', '\u0000', text.slice(0, 50), ',null']),
  (text) => `\ufeff${text}`,
  duplicateMember,
  duplicateMember,
  replaceNumber,
  nestDeeply,
  flipBytes,
  flipBytes,
  (text) => Buffer.from(text, 'utf16le'),
  (text, random) => text.replaceAll('"', () => (random.chance(0.02) ? "'" : '"')),
  (text, random) => text.replaceAll(/[:,]/g, (mark) => (random.chance(0.05) ? ` \t\r\n${mark}  ` : mark)),
]

/** A member twice in one object: parsers take the last one. */
function duplicateMember(text: string, random: Random): string {
  const places = [...text.matchAll(/\{"/g)].map(({ index }) => index)
  if (places.length === 0) return text
  const at = random.pick(places) + 1
  const name = random.pick([
    'metadata',
    'spec',
    'object',
    'clusterNames',
    'name',
    'kind',
    '__proto__',
    'uid',
    'annotations',
  ])
  const value = random.pick(['1', 'null', '{}', '[]', '"x"', '{"__proto__":{}}', '["member1","member1"]'])
  return `${text.slice(0, at)}"${name}":${value},${text.slice(at)}`
}

function replaceNumber(text: string, random: Random): string {
  const odd = random.pick(['-0', '1e400', '01', '.5', '1.', '+1', 'NaN', 'Infinity', '0x10', '1e', '-'])
  return text.replace(/(?<=:)\d+/, odd)
}

function nestDeeply(text: string, random: Random): string {
  const depth = Math.floor(10 ** (1 + random.next() * 4))
  const [open, close] = random.pick([
    ['[', ']'],
    ['{"spec":', '}'],
    ['{"a":[', ']}'],
  ])
  const deep = `${open.repeat(depth)}1${close.repeat(depth)}`
  const places = [...text.matchAll(/(?<=":)(null|\[\]|\{\}|"[a-z0-9]*")/g)]
  if (places.length === 0) return deep
  const { index, 0: found } = random.pick(places)
  return text.slice(0, index) + deep + text.slice(index + found.length)
}

function flipBytes(text: string, random: Random): Buffer {
  const bytes = Buffer.from(text)
  for (let i = 0; i <= random.below(4) && bytes.length > 0; i++) bytes[random.below(bytes.length)] = random.below(256)
  return bytes
}
