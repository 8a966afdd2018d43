import { posix } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { makeVolume, makeVolumeManager } from '../../../../test/builders.ts'
import { type HostRoots, hostPathFault, isBelow, localRootOf } from './host-paths.ts'
import { dataPathOf, directoryOf } from './names.ts'

const ROOTS: HostRoots = { allowedRoots: ['/var/datasets', '/mnt/data/'], localRoots: ['/srv/local', '/opt/public/'] }
const MANAGED = directoryOf(makeVolumeManager([{}], { uid: '4b1d' }), makeVolume())

describe('a path for Local volumes', () => {
  test.each([
    { what: 'a root for them', path: '/srv/local', want: undefined },
    { what: 'below it', path: '/srv/local/imagenet/2012/', want: undefined },
    { what: 'with a name of any script', path: '/srv/local/データ/ö', want: undefined },
    { what: 'with a name that looks encoded', path: '/srv/local/%2e%2e', want: undefined },
    { what: 'a root of data', path: '/var/datasets', want: 'NotBelow' },
    { what: 'above a root of data', path: '/var', want: 'NotBelow' },
    { what: 'below a root of data', path: '/var/datasets/imagenet', want: 'NotBelow' },
    { what: 'the root of the node', path: '/', want: 'NotPlain' },
    { what: 'beside a root for them', path: '/srv/locals', want: 'NotBelow' },
    { what: 'above a root for them', path: '/srv', want: 'NotBelow' },
    { what: 'in other letters', path: '/srv/Local/x', want: 'NotBelow' },
    { what: 'out of the root', path: '/srv/local/../../var/datasets', want: 'NotPlain' },
    { what: 'with a dot', path: '/srv/local/./x', want: 'NotPlain' },
    { what: 'with doubled slashes', path: '/srv//local/x', want: 'NotPlain' },
    { what: 'with slashes at its end', path: '/srv/local/x//', want: 'NotPlain' },
    { what: 'relative', path: 'srv/local/x', want: 'NotPlain' },
    { what: 'empty', path: '', want: 'NotPlain' },
    { what: 'with a line break', path: '/srv/local/x\n', want: 'NotPlain' },
    { what: 'with NUL', path: '/srv/local/x\0', want: 'NotPlain' },
    { what: 'with half a character', path: '/srv/local/\uD800', want: 'NotPlain' },
    { what: 'the directory of a volume', path: `/srv/local/${posix.basename(MANAGED)}`, want: 'OfVolume' },
  ])('$what', ({ path, want }) => {
    expect(hostPathFault(path, 'local', ROOTS)).toBe(want)
  })

  test('is rejected without localRoots, and below a root that overlaps the data roots', () => {
    expect(hostPathFault('/srv/local/x', 'local', { ...ROOTS, localRoots: [] })).toBe('NotBelow')
    for (const localRoots of [['/var'], ['/var/datasets'], ['/var/datasets/public']])
      expect(hostPathFault(localRoots[0] ?? '', 'local', { ...ROOTS, localRoots })).toBe('NotBelow')
  })
})

describe('if paths for Local volumes are the roots themselves, a path', () => {
  test.each([
    { what: 'that is a root', path: '/srv/local', want: undefined },
    { what: 'that is a root with a slash at its end', path: '/srv/local/', want: undefined },
    { what: 'that is a root, which has a slash at its end', path: '/opt/public', want: undefined },
    { what: 'below a root, which a pod can replace by a link', path: '/srv/local/imagenet', want: 'NoRoot' },
    { what: 'above a root', path: '/srv', want: 'NotBelow' },
  ])('$what', ({ path, want }) => {
    expect(hostPathFault(path, 'local', { ...ROOTS, localPaths: 'roots' })).toBe(want)
  })
})

test.each([
  { path: '/srv/local/a', localRoots: ['/srv/local/'], want: '/srv/local' },
  { path: '/srv/local', localRoots: ['/srv/local'], want: '/srv/local' },
  { path: '/srv/local/a/b', localRoots: ['/srv/local/a', '/srv/local', '/other'], want: '/srv/local' },
  { path: '/srv/locals', localRoots: ['/srv/local'], want: undefined },
])('$path is in the root $want of $localRoots', ({ path, localRoots, want }) => {
  expect(localRootOf(path, { localRoots })).toBe(want)
})

describe('a path for data', () => {
  test.each([
    { what: 'a root', path: '/var/datasets', want: undefined },
    { what: 'below a root', path: '/mnt/data/fast/', want: undefined },
    { what: 'in the data of another volume', path: `${MANAGED}/data`, want: 'OfVolume' },
    { what: 'the directory of another volume', path: MANAGED, want: 'OfVolume' },
    { what: 'beside a root', path: '/var/datasets-2', want: 'NotBelow' },
    { what: 'in a root for Local volumes', path: '/srv/local/x', want: 'NotBelow' },
    { what: 'behind a line separator', path: '/var/datasets/\u2028/vck-resource-1-2/data', want: 'OfVolume' },
  ])('$what', ({ path, want }) => {
    expect(hostPathFault(path, 'data', ROOTS)).toBe(want)
  })
})

const name = fc.constantFrom(
  ...['var', 'datasets', 'mnt', 'data', 'srv', 'local', 'opt', 'public', 'Local', 'LOCAL', 'locals', 'datasets-2'],
  ...['.', '..', '...', '', '%2e%2e', '%2F', '..%2f', '．．', 'ö', 'o\u0308', '\u202e', '\u2028', '\n', '\0', '\uD800'],
  ...['vck-resource-1-2', 'vck-resource-', 'x'],
)
const start = fc.constantFrom('', '/', '//', '/srv/local/', '/srv/local', '/var/datasets/', '/opt/public/', './')
const end = fc.constantFrom('', '/', '//', '/.', '/..')
const path = fc.oneof(
  fc.tuple(start, fc.array(name, { maxLength: 6 }), end).map(([from, names, to]) => from + names.join('/') + to),
  fc.string({ unit: 'binary', maxLength: 30 }).map((text) => `/srv/local/${text}`),
)
const root = fc
  .array(fc.constantFrom('a', 'b', 'ab', 'datasets'), { minLength: 1, maxLength: 3 })
  .map((names) => `/${names.join('/')}`)

/** The parts of a path as the kernel resolves it: the independent model. */
const partsOf = (of: string) => posix.resolve('/', of).split('/').filter(Boolean)
const isInside = (inner: string, outer: string) => {
  const [parts, own] = [partsOf(outer), partsOf(inner)]
  return parts.every((part, i) => own[i] === part)
}

describe('for any path', () => {
  test('a Local volume does not overlap a root for data', () => {
    fc.assert(
      fc.property(path, (given) => {
        if (hostPathFault(given, 'local', ROOTS) !== undefined) return
        expect(partsOf(given).join('/')).toBe(given.replace(/^\/|\/$/g, ''))
        expect(ROOTS.localRoots.some((one) => isInside(given, one))).toBe(true)
        for (const one of ROOTS.allowedRoots)
          expect([isInside(given, one), isInside(one, given)]).toEqual([false, false])
      }),
      { numRuns: 3_000 },
    )
  })

  test('data is below an allowed root, and never in the directory of another volume', () => {
    fc.assert(
      fc.property(path, (given) => {
        if (hostPathFault(given, 'data', ROOTS) !== undefined) return
        expect(ROOTS.allowedRoots.some((one) => isInside(given, one))).toBe(true)
        const config = makeVolume({ options: { dataPath: given } })
        const made = dataPathOf(makeVolumeManager([config], { uid: 'one' }), config)
        expect(hostPathFault(made, 'data', ROOTS)).toBe('OfVolume')
        expect(made.match(/vck-resource-/g)).toHaveLength(1)
      }),
      { numRuns: 3_000 },
    )
  })

  test('no path is allowed for both uses, for any roots', () => {
    fc.assert(
      fc.property(root, fc.array(root, { maxLength: 2 }), fc.array(root, { maxLength: 2 }), (given, data, local) => {
        const roots = { allowedRoots: data, localRoots: local }
        const faults = [hostPathFault(given, 'data', roots), hostPathFault(given, 'local', roots)]
        expect(faults).not.toEqual([undefined, undefined])
      }),
      { numRuns: 1_000 },
    )
  })

  test('a path of plain names below a local root is allowed, in any script', () => {
    const plain = fc
      .string({ unit: 'grapheme', minLength: 1, maxLength: 8 })
      .filter((text) => !/[/\p{Cc}]/u.test(text) && !/^\.\.?$|^vck-resource-/.test(text))
    fc.assert(
      fc.property(fc.array(plain, { maxLength: 4 }), (names) => {
        expect(hostPathFault(['/srv/local', ...names].join('/'), 'local', ROOTS)).toBeUndefined()
      }),
    )
  })
})

test('a path with a long row of slashes is compared at once', () => {
  expect(isBelow(`/data${'/'.repeat(1_000_000)}x`, ['/data'])).toBe(true)
})
