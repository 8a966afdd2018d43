import { expect, test } from 'vitest'
import { makeCluster } from '../../../test/builders.ts'
import { openTransferMatrix, type TransferLink, validateTransferLinks } from './matrix.ts'

const eu = { provider: 'aws', region: 'eu-central-1' }
const us = { provider: 'aws', region: 'us-east-1' }

test.each<{ name: string; links: TransferLink[]; want: object }>([
  {
    name: 'an entry for a pair of regions',
    links: [{ from: { region: eu.region }, to: { region: us.region }, pricePerGiB: 0.02, bytesPerSecond: '100Mi' }],
    want: { pricePerGiB: 0.02, bytesPerSecond: 100 * 2 ** 20 },
  },
  {
    name: 'the first entry that matches',
    links: [
      { from: eu, to: us, pricePerGiB: 1 },
      { from: {}, to: {}, pricePerGiB: 2 },
    ],
    want: { pricePerGiB: 1, bytesPerSecond: undefined },
  },
  {
    name: 'the first entry with a bandwidth, although an earlier one has a price',
    links: [
      { from: { provider: 'aws' }, to: { provider: 'aws' }, pricePerGiB: 1 },
      { from: {}, to: {}, pricePerGiB: 2, bytesPerSecond: '1Ki' },
    ],
    want: { pricePerGiB: 1, bytesPerSecond: 1024 },
  },
  {
    name: 'the first entry with a price, although an earlier one has a bandwidth',
    links: [
      { from: eu, to: us, bytesPerSecond: '1Ki' },
      { from: {}, to: {}, pricePerGiB: 2, bytesPerSecond: '2Ki' },
    ],
    want: { pricePerGiB: 2, bytesPerSecond: 1024 },
  },
  {
    name: 'nothing of an entry for the other direction',
    links: [{ from: us, to: eu, pricePerGiB: 1 }],
    want: { pricePerGiB: undefined, bytesPerSecond: undefined },
  },
  {
    name: 'nothing of an entry of which only one field matches',
    links: [{ from: { provider: 'gcp', region: eu.region }, to: {}, pricePerGiB: 1 }],
    want: { pricePerGiB: undefined, bytesPerSecond: undefined },
  },
  {
    name: 'a price of 0, which is known',
    links: [{ from: { provider: 'aws' }, to: { provider: 'aws' }, pricePerGiB: 0 }],
    want: { pricePerGiB: 0, bytesPerSecond: undefined },
  },
])('a rate is $name', ({ links, want }) => {
  const matrix = openTransferMatrix({ links })
  const asked = () => matrix?.rateBetween(matrix.placeOf(makeCluster('m1', eu)), matrix.placeOf(makeCluster('m2', us)))
  expect([asked(), asked()], 'the second one is remembered').toEqual([want, want])
})

test('a cluster without a place matches only an entry without fields', () => {
  const links = [
    { from: { region: 'eu' }, to: {}, pricePerGiB: 1 },
    { from: {}, to: {}, pricePerGiB: 2 },
  ]
  const matrix = openTransferMatrix({ links })
  expect(matrix?.rateBetween(matrix.placeOf(undefined), matrix.placeOf(makeCluster('m1'))).pricePerGiB).toBe(2)
})

test('clusters of one provider and region are at the same place', () => {
  const matrix = openTransferMatrix({ links: [{ from: {}, to: {}, pricePerGiB: 1 }] })
  const [one, same, elsewhere] = [makeCluster('m1', eu), makeCluster('m2', eu), makeCluster('m3', us)]
  expect(matrix?.placeOf(one)).toBe(matrix?.placeOf(same))
  expect(matrix?.placeOf(elsewhere)).toEqual(us)
  expect(matrix?.placeOf(undefined)).toEqual({ provider: undefined, region: undefined })
})

test('there is no matrix without entries', () => {
  expect(openTransferMatrix({ links: [] })).toBeUndefined()
})

test.each<{ name: string; links: TransferLink[]; want: string[] }>([
  {
    name: 'no figure',
    links: [{ from: {}, to: {} }],
    want: ['transferCosts.links[0] Required: needs pricePerGiB, bytesPerSecond, or both'],
  },
  {
    name: 'no bandwidth at all',
    links: [{ from: {}, to: {}, bytesPerSecond: '0' }],
    want: ['transferCosts.links[0].bytesPerSecond Invalid: must be at least 1 byte, and a safe number'],
  },
  {
    name: 'the same ends and figure three times',
    links: [
      { from: eu, to: us, pricePerGiB: 1 },
      { from: eu, to: us, pricePerGiB: 2, bytesPerSecond: '1Mi' },
      { from: eu, to: us, pricePerGiB: 1 },
    ],
    want: [
      'transferCosts.links[1].pricePerGiB Duplicate: has no effect: transferCosts.links[0] has the same from and to; leave one of them out',
      'transferCosts.links[2].pricePerGiB Duplicate: has no effect: transferCosts.links[0] has the same from and to; leave one of them out',
    ],
  },
  {
    name: 'nothing: the figures of the same ends are in two entries',
    links: [
      { from: eu, to: us, pricePerGiB: 1 },
      { from: eu, to: us, bytesPerSecond: '1Mi' },
      { from: us, to: eu, pricePerGiB: 1 },
    ],
    want: [],
  },
])('an error says what is wrong: $name', ({ links, want }) => {
  expect(validateTransferLinks(links).map(({ path, code, message }) => `${path} ${code}: ${message}`)).toEqual(want)
})
