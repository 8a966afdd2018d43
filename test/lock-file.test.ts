/** The lock files of the project and of Azurite: integrity hashes, no registry, and no warning of `npm ci` on the oldest Node. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const OLDEST_NODE = 20

interface LockedPackage {
  resolved?: string
  integrity?: string
  engines?: { node?: string }
}

const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8')) as {
  packages: Record<string, LockedPackage>
}

/** Whether a range such as `^18.0.0 || >=20.12` has a version of this major. */
function accepts(range: string, major: number): boolean {
  return range.split('||').some((part) => {
    const [, operator, first] = /^\s*(\^|>=|~)?\s*v?(\d+)/.exec(part) ?? []
    if (first === undefined) return part.trim() === '*'
    return operator === '>=' ? Number(first) <= major : Number(first) === major
  })
}

test.each([
  { range: '>=18', want: true },
  { range: '>= 20.19.0', want: true },
  { range: '^20.12.0 || >=22', want: true },
  { range: '*', want: true },
  { range: '>=22.12.0', want: false },
  { range: '^22 || ^24 || >=26', want: false },
])('$range accepts Node 20: $want', ({ range, want }) => {
  expect(accepts(range, OLDEST_NODE)).toBe(want)
})

test('lists no dependency that Node 20 is too old for: remove its "engines" (ADR 13)', () => {
  const newer = Object.entries(packages)
    .filter(([path]) => path !== '')
    .filter(([, { engines }]) => engines?.node !== undefined && !accepts(engines.node, OLDEST_NODE))
  expect(newer.map(([path]) => path)).toEqual([])
})

const PEER = 'test/e2e/peers/azurite/package-lock.json'
const ofPeer = JSON.parse(readFileSync(PEER, 'utf8')) as { packages: Record<string, LockedPackage> }
const entries = [packages, ofPeer.packages].flatMap((locked) => Object.entries(locked).filter(([path]) => path !== ''))

test('every package has an integrity hash', () => {
  expect(entries.filter(([, { integrity }]) => integrity === undefined).map(([path]) => path)).toEqual([])
})

test('no entry names a registry', () => {
  expect(entries.filter(([, { resolved }]) => resolved !== undefined).map(([path]) => path)).toEqual([])
})
