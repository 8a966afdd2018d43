/** Tests the conditions of a DataSource, and the reasons that other messages take from them. */
import { describe, expect, test } from 'vitest'
import { makeSource, NOW } from '../../../test/builders.ts'
import type { DataSource } from '../../api/data-source.ts'
import type { Attempt } from './attempt.ts'
import { attemptFailure, conditionReason, listed, mappedStates, readyMessage, sourceConditions } from './conditions.ts'
import type { SourcePhase } from './phase.ts'

const why = 'location s3://lake-eu/t matches no key of locationMapping of system lake; add one'
const unmapped: Attempt = { kind: 'located', location: 's3://lake-eu/t', clusters: [], whyNoCluster: why }
const inClusters = (clusterNames: string[]) => makeSource({ locality: { clusterNames } })

function withResult(source: DataSource, attempt: Attempt | undefined, phase: SourcePhase = 'Available'): DataSource {
  const conditions = sourceConditions({ source, attempt, health: undefined }, phase, NOW)
  return { ...source, status: { ...source.status, phase, conditions } }
}

describe('data in none of the clusters', () => {
  const source = withResult(inClusters([]), unmapped)

  test('has the condition Mapped with the reason', () => {
    expect(source.status?.conditions).toMatchObject([
      { type: 'Mapped', status: 'False', reason: 'NoCluster', message: why },
      { type: 'Ready', status: 'True', message: 'the data is in no cluster' },
      { type: 'Stale', status: 'False' },
    ])
    expect(conditionReason(source, 'Mapped')).toBe(why)
  })

  test.each<{ name: string; attempt: Attempt | undefined }>([
    { name: 'no result', attempt: undefined },
    { name: 'a failed query', attempt: { kind: 'failed', reason: 'HTTP 503' } },
    { name: 'the same answer', attempt: { kind: 'unchanged' } },
    { name: 'a first answer that it does not exist', attempt: { kind: 'nowhere', reason: 'gone', confirmations: 1 } },
  ])('keeps the reason after $name', ({ attempt }) => {
    expect(conditionReason(withResult(source, attempt), 'Mapped')).toBe(why)
  })

  test('loses the reason when it is in a cluster, and when it does not exist', () => {
    const moved = { ...source, spec: inClusters(['member1']).spec }
    expect(conditionReason(withResult(moved, { ...unmapped, clusters: ['member1'] }), 'Mapped')).toBeUndefined()
    const gone: Attempt = { kind: 'nowhere', reason: 'gone', confirmations: 3 }
    expect(conditionReason(withResult(source, gone, 'Unavailable'), 'Mapped')).toBeUndefined()
  })

  test('has no condition without a reason', () => {
    expect(mappedStates({ kind: 'located', location: 's3://a', clusters: [] })).toEqual([])
    expect(mappedStates({ ...unmapped, clusters: ['member1'] })).toEqual([])
  })
})

test.each<{ name: string; attempt: Attempt; phase: SourcePhase; type: 'Ready' | 'Stale'; want: string | undefined }>([
  {
    name: 'data that does not exist',
    attempt: { kind: 'nowhere', reason: 'no table t', confirmations: 3 },
    phase: 'Unavailable',
    type: 'Ready',
    want: 'no table t',
  },
  {
    name: 'a failed query',
    attempt: { kind: 'failed', reason: 'HTTP 403' },
    phase: 'Available',
    type: 'Stale',
    want: 'HTTP 403',
  },
  { name: 'an answer', attempt: { kind: 'unchanged' }, phase: 'Available', type: 'Stale', want: undefined },
  { name: 'data that exists', attempt: { kind: 'unchanged' }, phase: 'Available', type: 'Ready', want: undefined },
])('the reason of $name', ({ attempt, phase, type, want }) => {
  expect(conditionReason(withResult(inClusters(['member1']), attempt, phase), type)).toBe(want)
})

test('texts of a data system are printable, and have a length that is accepted', () => {
  const reason = `\u0000${'é'.repeat(5000)}`
  expect(attemptFailure({ kind: 'failed', reason })).toBe(` ${'é'.repeat(1022)}…`)
  const attempt: Attempt = { kind: 'nowhere', reason, confirmations: 1 }
  expect(readyMessage({ source: makeSource(), attempt, health: undefined }, 'Unavailable')).toHaveLength(1024)
  expect(attemptFailure({ kind: 'unchanged' })).toBeUndefined()
})

test.each([
  { clusters: ['a', 'b'], want: 'a, b' },
  { clusters: [], want: 'no cluster' },
  { clusters: undefined, want: 'no cluster' },
])('$clusters are listed as $want', ({ clusters, want }) => {
  expect(listed(clusters)).toBe(want)
})
