/** Values that no API server sends where they stand, and the sizes of those that are too large. */
import type { Random } from '../random.ts'

/** Own members that a parser makes of a text and that an object literal would not have. */
const parsed = (text: string): unknown => JSON.parse(text)

/** A number that only JSON text can express; a value contains it as a string that `writeNumbers` replaces. */
const rawNumber = (text: string) => `\u0001number ${text}`

export function writeNumbers(json: string): string {
  return json.replaceAll(/"\\u0001number ([^"]*)"/g, '$1')
}

const SMALL: readonly (() => unknown)[] = [
  () => null,
  () => true,
  () => false,
  () => 0,
  () => rawNumber('-0'),
  () => -1,
  () => 1.5,
  // Larger ones never come from an API server, which decodes numbers into 64 bits and refuses what does not fit.
  () => rawNumber('1e308'),
  () => rawNumber('-1e308'),
  () => rawNumber('9007199254740993'),
  () => rawNumber('1E+2'),
  () => '',
  () => ' ',
  () => '0',
  () => 'null',
  () => '__proto__',
  () => 'constructor',
  () => 'toString',
  () => '../../etc/passwd',
  () => 'a/b/c/d',
  () => 'a~1b~0c',
  () => 'line\nbreak\r\nX-Header: 1',
  () => '\u0000\u0001\u001f\u007f',
  () => '\ud800',
  () => 'a\udc00b',
  () => '\u202e\ufeff\u2028',
  () => '😀'.repeat(40),
  () => 'ä'.repeat(300),
  () => '2026-13-45T99:99:99Z',
  () => '2026-11-20T12:00:00Z',
  () => [],
  () => {},
  () => [[]],
  () => [null],
  () => [[], {}, ''],
  () => [1, '1', true],
  () => parsed('{"toString":1}'),
  () => parsed('{"toString":1,"valueOf":1}'),
  () => parsed('{"__proto__":{"a":1}}'),
  () => parsed('{"constructor":{"prototype":{"a":1}}}'),
  () => parsed('{"hasOwnProperty":1,"length":-1}'),
  () => parsed('{"":{"":{"":""}}}'),
  () => parsed('{"toJSON":"x","then":1,"0":0,"length":3}'),
]

export const ODD_NAMES = [
  '__proto__',
  'constructor',
  'toString',
  'hasOwnProperty',
  'valueOf',
  'toJSON',
  'length',
  'then',
  '',
  '0',
  'a/b',
  'a~b',
  '\u0000',
  '\ud800',
  'metadata',
  'spec',
] as const

export function oddValue(random: Random): unknown {
  return random.chance(0.04) ? largeValue(random) : random.pick(SMALL)()
}

/** How often something is repeated: mostly a few times, rarely so often that a cost that grows with the square shows. */
export function repetitions(random: Random): number {
  return Math.floor(2 * 10 ** (random.chance(0.01) ? 3 + random.next() * 1.6 : random.next() * 2))
}

function largeValue(random: Random): unknown {
  const size = Math.floor(10 ** (2 + random.next() * (random.chance(0.05) ? 3 : 1.5)))
  switch (random.below(6)) {
    case 0:
      return 'x'.repeat(size)
    case 1:
      return '\ud83d'.repeat(size)
    case 2:
      return Array.from({ length: size }, (_, i) => `member${i}`)
    case 3:
      return Array.from({ length: size }, () => 1)
    case 4:
      return Object.fromEntries(Array.from({ length: size }, (_, i) => [`key${i}`, `value${i}`]))
    default:
      return nested(Math.min(size, 3_000))
  }
}

function nested(depth: number): unknown {
  let value: unknown = 1
  for (let i = 0; i < depth; i++) value = i % 2 === 0 ? [value] : { spec: value }
  return value
}
