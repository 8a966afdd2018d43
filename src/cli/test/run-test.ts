/** Runs a test in memory: stores the given objects, and reviews the request as the server would. */
import { isBinding, type Placement, type ResourceBinding } from '../../api/karmada.ts'
import { groupOf, type K8sObject } from '../../api/meta.ts'
import { workloadKindsOf } from '../../app/workload-kinds-config.ts'
import { diffJson } from '../../core/admission/diff.ts'
import { describeErrors } from '../../core/field-errors.ts'
import { jsonEqual } from '../../core/json.ts'
import type { WorkloadKinds } from '../../core/workload-kinds/kinds.ts'
import type { FolderStore } from '../../store/folder/folder.ts'
import { kindKey } from '../../store/kinds/any-kind.ts'
import { unknownWorkloadWebhook } from '../../webhooks/unknown-workload.ts'
import { inNamespace, isTemplate, put, type Reviewed, reviewDerived, reviewOne, webhookFor } from '../check/review.ts'
import { openFolder } from '../open-folder.ts'
import type { TestCase } from './complete-test.ts'
import type { ActualAnswer, Answer, Expected } from './test-schema.ts'

export interface TestResult {
  test: TestCase
  passed: boolean
  /** The expected fields, and their actual values. */
  expected: Expected
  actual: Expected
}

/** Runs a test. A test without expected fields gets all of them, and fails. */
export async function runTest(test: TestCase): Promise<TestResult> {
  const answer = await answerOf(test)
  const isEmpty = Object.keys(test.expect).length === 0
  const actual = isEmpty ? complete(answer) : pick(answer, test.expect)
  return { test, passed: !isEmpty && jsonEqual(test.expect, actual), expected: test.expect, actual }
}

async function answerOf({ config, now, given, object: raw, oldObject }: TestCase): Promise<ActualAnswer> {
  const workloads = workloadKindsOf(config)
  const store = openFolder(undefined, { watch: false, workloads })
  await store.start(new AbortController().signal)
  const context = {
    store,
    workloads,
    now,
    propagateDeps: config.dependencies.propagate,
    clusterScopedClaims: config.claims.clusterScoped,
    whenNotReady: config.volumes.whenNotReady,
    volumeLimits: config.volumes,
  }
  try {
    for (const one of given) await putGiven(store, workloads, one)
    const object = inNamespace(raw, workloads)
    const webhook = webhookFor(object, workloads) ?? unknownWorkloadWebhook(workloads)
    const review = await reviewOne(object, webhook, context, oldObject && inNamespace(oldObject, workloads))
    if (review.outcome === 'denied' || !isTemplate(object, workloads)) return { ...toAnswer(review), binding: null }
    await put(store, workloads, review.after)
    const derived = await reviewDerived(object, context)
    return { ...toAnswer(review), binding: derived ? toAnswer(derived) : null }
  } finally {
    await store.stop()
  }
}

/** Stores a given object. A later one replaces an earlier one with the same name. */
async function putGiven(store: FolderStore, workloads: WorkloadKinds, object: K8sObject): Promise<void> {
  const key = kindKey({ group: groupOf(object.apiVersion), kind: object.kind })
  const type = store.kinds().find((one) => kindKey(one) === key)
  await put(store, workloads, type?.namespaced === false ? object : inNamespace(object, workloads), type)
}

function toAnswer({ outcome, decision, reason, errors, warnings, before, after }: Reviewed): Answer {
  return {
    allowed: outcome !== 'denied',
    message: errors.length > 0 ? describeErrors(errors) : null,
    decision: decision ?? null,
    reason: reason ?? null,
    warnings,
    patch: diffJson(before, after),
    clusters: clustersOf(after),
  }
}

function clustersOf(object: K8sObject): string[] | null {
  if (!isBinding(object.kind)) return null
  const { clusterAffinity, clusterAffinities = [] }: Placement = (object as ResourceBinding).spec.placement ?? {}
  const groups = clusterAffinity ? [clusterAffinity] : clusterAffinities
  const named = groups.filter(({ clusterNames }) => clusterNames !== undefined)
  return named.length > 0 ? [...new Set(named.flatMap(({ clusterNames = [] }) => clusterNames))] : null
}

/** The actual values of the fields that a test expects. */
function pick(answer: ActualAnswer, expected: Expected): Expected {
  const fields = Object.keys(expected).map((name) => {
    const value = answer[name as keyof ActualAnswer]
    const wanted = expected[name as keyof Expected]
    const isPart = name === 'binding' && value && wanted
    return [name, isPart ? pick(value as ActualAnswer, wanted as Expected) : value]
  })
  return Object.fromEntries(fields)
}

/** The fields that have a value, for a test that expects nothing yet. */
function complete(answer: ActualAnswer): Expected {
  const fields = Object.entries(answer).flatMap(([name, value]) => {
    if (name === 'decision') return [[name, value]]
    if (value === null) return []
    return [[name, name === 'binding' ? complete(value as ActualAnswer) : value]]
  })
  return Object.fromEntries(fields)
}
