/** One value of a wrong type at each path of the golden and recorded reviews. The fuzz combines such values at random. */
import { describe, expect, test } from 'vitest'
import type { K8sObject } from '../src/api/meta.ts'
import { isObject, parseJson } from '../src/base/json.ts'
import { SHIPPED_KINDS } from '../src/core/workload-kinds/kinds.ts'
import { interpretObject } from '../src/queries/dependents.ts'
import { admissionSettings } from '../src/server/admission.fake.ts'
import { serveWebhook } from '../src/server/admission.ts'
import { silentLog as log } from '../src/telemetry/logger.fake.ts'
import { openMetrics } from '../src/telemetry/metrics.ts'
import { webhookPath } from '../src/webhooks/define.ts'
import { allWebhooks } from '../src/webhooks/index.ts'
import { INTERPRETER_PATH } from '../src/webhooks/interpreter.ts'
import { readSeeds, stateWithClaims } from './fuzz/state.ts'
import { storeOf } from './stores.ts'

const WRONG: readonly unknown[] = [
  ...[null, true, 0, 1.5, '', 'text', '{"a":null}'],
  ...[[], [null], [[]], ['text', 1]],
  ...[{}, { a: null }, { length: 3 }, { toString: 1 }],
]

const seeds = readSeeds()

describe.each(allWebhooks(SHIPPED_KINDS))('$name', (webhook) => {
  test('answers a review with a value of a wrong type at any path', async () => {
    const serve = serveWebhook(webhook, {
      ...admissionSettings,
      store: await storeOf(stateWithClaims()),
      log,
      metrics: openMetrics(),
      now: () => 0,
    })
    const tried = new Set<string>()
    const failed: string[] = []
    for (const { review } of seeds.filter(({ path }) => path === webhookPath(webhook))) {
      for (const { path, replaced } of variantsOf(review)) {
        if (tried.has(path)) continue
        tried.add(path)
        for (const value of WRONG) {
          const { status, body } = serve(JSON.stringify(replaced(value)))
          if (status === 500) failed.push(`${path} = ${JSON.stringify(value)}: ${body}`)
        }
      }
    }
    expect(tried.size).toBeGreaterThan(20)
    expect(failed).toEqual([])
  })
})

test('the interpreter answers for an object with a wrong type at any path', async () => {
  const store = await storeOf(stateWithClaims())
  const tried = new Set<string>()
  const failed: string[] = []
  for (const { review } of seeds.filter(({ path }) => path === INTERPRETER_PATH)) {
    const { apiVersion, kind, metadata, ...content } = (review['request'] as { object: K8sObject }).object
    for (const { path, replaced } of variantsOf(content)) {
      if (tried.has(path)) continue
      tried.add(path)
      for (const value of WRONG) {
        const object: K8sObject = { apiVersion, kind, metadata, ...(replaced(value) as object) }
        try {
          interpretObject(object, store, SHIPPED_KINDS, 'forbidden')
        } catch (error) {
          failed.push(`${path} = ${JSON.stringify(value)}: ${error}`)
        }
      }
    }
  }
  expect(tried.size).toBeGreaterThan(20)
  expect(failed).toEqual([])
})

interface Variant {
  /** Items of a list have the same path. */
  path: string
  /** Returns the whole with another value at the path. */
  replaced(value: unknown): unknown
}

/** Returns a variant for each path below a value. A text that is JSON, as in an annotation, has paths too. */
function variantsOf(value: unknown): Variant[] {
  const parsed = parseJson(value)
  if (isObject(parsed) || Array.isArray(parsed)) {
    return variantsOf(parsed).map(({ path, replaced }) => ({
      path: `(JSON)${path}`,
      replaced: (other) => JSON.stringify(replaced(other)),
    }))
  }
  if (Array.isArray(value)) {
    return value.flatMap((item, i) => below('[]', item, (other) => value.with(i, other)))
  }
  if (!isObject(value)) return []
  return Object.entries(value).flatMap(([name, member]) =>
    below(`.${name}`, member, (other) => ({ ...value, [name]: other })),
  )
}

function below(step: string, value: unknown, put: (other: unknown) => unknown): Variant[] {
  return [
    { path: step, replaced: put },
    ...variantsOf(value).map(({ path, replaced }) => ({
      path: step + path,
      replaced: (other: unknown) => put(replaced(other)),
    })),
  ]
}
