import { describe, expect, test } from 'vitest'
import { caBundleToRegister } from './ca-bundle.ts'

const pem = (name: string) => `-----BEGIN CERTIFICATE-----\n${name}\n-----END CERTIFICATE-----`
const bundle = (...names: string[]) => btoa(`${names.map(pem).join('\n')}\n`)
const [a, b, both] = [bundle('a'), bundle('b'), bundle('a', 'b')]

describe('while other replicas serve certificates of other CAs', () => {
  test.each([
    { what: 'adds a CA to those of the others', own: b, registered: a, want: bundle('b', 'a') },
    { what: 'keeps a bundle that has the CA', own: b, registered: both, want: both },
    { what: 'adds only what is missing', own: bundle('c', 'b'), registered: both, want: bundle('c', 'b', 'a') },
    { what: 'replaces the same CAs in another order', own: both, registered: bundle('b', 'a'), want: both },
    { what: 'reads a bundle with other text', own: b, registered: btoa(`# b\r\n${pem('b')}`), want: b },
    { what: 'replaces an empty bundle', own: a, registered: '', want: a },
    { what: 'writes the first bundle', own: a, registered: undefined, want: a },
    { what: 'leaves the bundle to another tool', own: undefined, registered: a, want: undefined },
  ])('$what', ({ own, registered, want }) => {
    expect(caBundleToRegister({ own, registered, keepsOtherCas: true })).toBe(want)
  })
})

test('without them, the bundle is that of this replica alone', () => {
  expect(caBundleToRegister({ own: b, registered: both, keepsOtherCas: false })).toBe(b)
})
