import pino from 'pino'
import { expect, test } from 'vitest'
import { newestRules, strictestRules } from '../core/karmada-rules.ts'
import type { ServerInfo } from '../core/server-features.ts'
import { openKarmadaVersion } from './karmada.ts'

const log = pino({ level: 'silent' })
const overflow = { items: { properties: { overflowAffinities: {} } } }
const placement = { properties: { clusterAffinities: overflow } }
const schemas = { ResourceBinding: { properties: { spec: { properties: { placement } } } } }
const recent: ServerInfo = { version: 'v1.35.0', bindingSchemas: schemas }
const old: ServerInfo = { version: 'v1.35.0', bindingSchemas: {} }

/** Reads a server that answers these states, one after the other, and returns the rules after each read. */
async function read(version: string | undefined, ...states: (() => Promise<ServerInfo>)[]) {
  let state = states[0] as () => Promise<ServerInfo>
  const karmada = openKarmadaVersion({ version, readServerInfo: () => state(), log })
  let changes = 0
  karmada.subscribe(() => changes++)
  const rules = [karmada.rules()]
  for (state of states) {
    await karmada.refresh()
    rules.push(karmada.rules())
  }
  return { rules, changes }
}

test('the rules are the strictest until the API server answers, and follow its upgrade', async () => {
  expect(
    await read(
      undefined,
      async () => old,
      async () => recent,
      async () => recent,
    ),
  ).toEqual({ rules: [strictestRules, strictestRules, newestRules, newestRules], changes: 1 })
})

test('a failed read keeps the last rules', async () => {
  const unavailable = () => Promise.reject(new Error('connection refused'))
  expect(await read(undefined, unavailable, async () => recent, unavailable)).toEqual({
    rules: [strictestRules, strictestRules, newestRules, newestRules],
    changes: 1,
  })
})

test('a configured version precedes the API server', async () => {
  expect(await read('1.17', async () => recent)).toEqual({ rules: [strictestRules, strictestRules], changes: 0 })
})

test('without an API server, as in a folder, the newest rules apply', async () => {
  const karmada = openKarmadaVersion({ version: undefined, readServerInfo: undefined, log })
  await karmada.refresh()
  expect(karmada.rules()).toBe(newestRules)
})

test('an ended subscription hears of no change', async () => {
  const karmada = openKarmadaVersion({ version: undefined, readServerInfo: async () => recent, log })
  let changes = 0
  karmada.subscribe(() => changes++)()
  await karmada.refresh()
  expect(changes).toBe(0)
})
