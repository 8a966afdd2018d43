import { describe, expect, test } from 'vitest'
import { mayStartToSign, nextCheckAt, reasonOfAge, reasonToRenewLeaf, trustedAuthorities } from './renew.ts'

const validity = { notBefore: 0, notAfter: 900 }

describe('a CA', () => {
  test.each([
    { name: 'is valid until two thirds of its lifetime are over', now: 599, want: undefined },
    { name: 'is due at two thirds of its lifetime', now: 600, want: 'two-thirds-of-life' },
    { name: 'is expired at notAfter', now: 900, want: 'expired' },
    { name: 'is not valid before notBefore, for example with a wrong clock', now: -1, want: 'not-yet-valid' },
  ])('$name', ({ now, want }) => {
    expect(reasonOfAge(validity, now)).toBe(want)
  })
})

describe('a leaf', () => {
  const good = { leaf: validity, ca: { notBefore: 0, notAfter: 9000 }, signedByCa: true, uncoveredHosts: [], now: 10 }
  test.each([
    { name: 'that is young, covers its hosts and is signed by the CA stays', change: {}, want: undefined },
    { name: 'is renewed by its own age, not by that of its CA', change: { now: 600 }, want: 'two-thirds-of-life' },
    {
      name: 'that is expired is reported as expired, even if another CA signed it',
      change: { now: 900, signedByCa: false },
      want: 'expired',
    },
    { name: 'that is not valid yet is renewed', change: { now: -1 }, want: 'not-yet-valid' },
    { name: 'of another CA is renewed', change: { signedByCa: false }, want: 'not-signed-by-ca' },
    { name: 'that does not cover a host is renewed', change: { uncoveredHosts: ['a.b'] }, want: 'hosts-not-covered' },
    {
      name: 'that ends with its CA is not renewed with the same CA',
      change: { now: 700, ca: validity },
      want: undefined,
    },
  ])('$name', ({ change, want }) => {
    expect(reasonToRenewLeaf({ ...good, ...change })).toBe(want)
  })
})

test('the bundle keeps every CA until it expires, in order', () => {
  const authorities = [
    { name: 'next', notBefore: 5, notAfter: 300 },
    { name: 'signing', notBefore: 3, notAfter: 200 },
    { name: 'old', notBefore: 0, notAfter: 100 },
  ]
  expect(trustedAuthorities(authorities, 99).map(({ name }) => name)).toEqual(['next', 'signing', 'old'])
  expect(trustedAuthorities(authorities, 100).map(({ name }) => name)).toEqual(['next', 'signing'])
})

test.each([
  { name: 'does not sign before the wait is over', input: { now: 159 }, want: false },
  { name: 'signs when the wait is over', input: { now: 160 }, want: true },
  {
    name: 'signs after the wait also if it is known to be published',
    input: { now: 160, published: true },
    want: true,
  },
  { name: 'does not sign while it is known not to be published', input: { now: 9999, published: false }, want: false },
])('a new CA $name', ({ input, want }) => {
  expect(mayStartToSign({ knownSince: 100, waitMs: 60, published: undefined, ...input })).toBe(want)
})

test('the next check is after the interval, or at an earlier due time', () => {
  expect(nextCheckAt(1000, 60, [])).toBe(1060)
  expect(nextCheckAt(1000, 60, [900, 1030, 1050])).toBe(1030)
})
