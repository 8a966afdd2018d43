import { describe, expect, test } from 'vitest'
import type { Replica } from '../api/registration.ts'
import {
  observeRegistration,
  recordWrite,
  registrationTurn,
  type TurnInput,
  type WriteHistory,
} from './registration-turn.ts'

const own: Replica = { host: 'new', version: '2.0.0', registration: 'n' }
const older: Replica = { host: 'old', version: '1.0.0', registration: 'o' }
const configured: Replica = { ...own, host: 'other', registration: 'x' }

const input = (given: Partial<TurnInput> = {}): TurnInput => ({
  own,
  others: [],
  registered: 'named',
  leaderForMs: 0,
  history: { reverts: 0 },
  nowMs: 0,
  ...given,
})

describe('the leader replaces a registration that differs', () => {
  test.each<{ name: string; given: Partial<TurnInput> }>([
    { name: 'of a version that no replica has any more', given: {} },
    { name: 'beside replicas with the same version and configuration', given: { others: [{ ...own, host: 'b' }] } },
    { name: 'that is absent, whatever the others are', given: { registered: 'absent', others: [older] } },
    { name: 'without a version, after a minute', given: { registered: 'unnamed', leaderForMs: 60_000 } },
  ])('$name', ({ given }) => {
    expect(registrationTurn(input(given))).toEqual({ kind: 'replace' })
  })
})

describe('the leader keeps a registration', () => {
  test.each<{ name: string; given: Partial<TurnInput>; cause: string; message: string }>([
    {
      name: 'while a replica of an older version is alive',
      given: { others: [{ ...own, host: 'b' }, older] },
      cause: 'otherReplicas',
      message: 'until replica old of version 1.0.0 is gone',
    },
    {
      name: 'of a newer version while one of its replicas is alive',
      given: { own: older, others: [own] },
      cause: 'otherReplicas',
      message: 'until replica new of version 2.0.0 is gone',
    },
    {
      name: 'while a replica has another configuration',
      given: { others: [configured] },
      cause: 'otherReplicas',
      message: 'until replica other of another configuration is gone',
    },
    {
      name: 'without a version for a minute, since its replicas announce nothing',
      given: { registered: 'unnamed', leaderForMs: 59_999 },
      cause: 'unnamed',
      message: 'until this replica leads for 60 s, since replicas of an older version may be running',
    },
    {
      name: 'that another client changed again',
      given: { history: { writtenAtMs: 0, revertedAtMs: 10_000, reverts: 1 }, nowMs: 120_000 },
      cause: 'reverted',
      message:
        'for 120 s, since another client changes it after each write; stop that client, or the other installation of Lodestone',
    },
  ])('$name', ({ given, cause, message }) => {
    expect(registrationTurn(input(given))).toEqual({
      kind: 'keep',
      cause,
      message: `the present registration is kept ${message}`,
    })
  })
})

describe('a client that changes the registration after each write', () => {
  /** Simulates an hour: the leader looks every 10 s, and the other client changes the registration before the next look. */
  function writesInAnHour(isReverted: (nowMs: number) => boolean): number[] {
    const writes: number[] = []
    let history: WriteHistory = { reverts: 0 }
    let isCurrent = false
    for (let nowMs = 0; nowMs < 3_600_000; nowMs += 10_000) {
      history = observeRegistration(history, isCurrent, nowMs)
      if (!isCurrent && registrationTurn(input({ history, nowMs })).kind === 'replace') {
        history = recordWrite(history, nowMs)
        writes.push(nowMs)
        isCurrent = true
      }
      if (isReverted(nowMs)) isCurrent = false
    }
    return writes
  }

  test('is answered with fewer and fewer writes: 8 in an hour', () => {
    const writes = writesInAnHour(() => true)
    expect(writes.slice(0, 4)).toEqual([0, 130_000, 380_000, 870_000])
    expect(writes).toHaveLength(8)
  })

  test('loses the registration for good when it ends', () => {
    const writes = writesInAnHour((nowMs) => nowMs < 200_000)
    expect(writes).toEqual([0, 130_000, 380_000])
  })

  test('a long time after the write is answered at once, as a change of a user', () => {
    const writes = writesInAnHour((nowMs) => nowMs === 1_800_000)
    expect(writes).toEqual([0, 1_810_000])
  })
})
