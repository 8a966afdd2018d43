/** Runs a test in memory: stores the given objects, and reviews the request as the server would. */
import { isBinding, type Placement, type ResourceBinding } from '../../api/karmada.ts'
import type { K8sObject } from '../../api/meta.ts'
import { describeErrors } from '../../base/field-errors.ts'
import { jsonEqual } from '../../base/json.ts'
import { diffJson } from '../../core/admission/diff.ts'
import { placeObject } from '../check/input/place-manifests.ts'
import { reviewDerived, wholePolicies } from '../check/review/review-derived.ts'
import { isTemplate, type ObjectReview, openSession, put, reviewObject } from '../check/review/review-object.ts'
import { openFolder } from '../open-folder.ts'
import { configuredKarmadaRules } from '../options/karmada-version.ts'
import { reviewSettings } from '../review-settings.ts'
import { scopesOf } from '../scope.ts'
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
  const answer = await answerTest(test)
  const isEmpty = Object.keys(test.expect).length === 0
  const actual = isEmpty ? complete(answer) : pick(answer, test.expect)
  return { test, passed: !isEmpty && jsonEqual(test.expect, actual), expected: test.expect, actual }
}

async function answerTest({ config, now, given, object: raw, oldObject }: TestCase): Promise<ActualAnswer> {
  const settings = reviewSettings(config, configuredKarmadaRules(config), now)
  const store = openFolder(undefined, { watch: false, workloads: settings.workloads })
  await store.start(new AbortController().signal)
  const session = openSession({ ...settings, store })
  const objectScope = scopesOf(session.types, given)
  const place = (one: K8sObject) => placeObject(one, objectScope(one))
  try {
    // A later object replaces an earlier one with the same name.
    for (const one of given) await put(session, place(one))
    const object = place(raw)
    const review = await reviewObject(object, session, oldObject && place(oldObject))
    if (review.outcome === 'denied' || !isTemplate(object, session)) return { ...toAnswer(review), binding: null }
    await put(session, review.after)
    const derived = await reviewDerived(object, wholePolicies(store), session)
    return { ...toAnswer(review), binding: derived ? toAnswer(derived) : null }
  } finally {
    await store.stop()
  }
}

function toAnswer({ outcome, decision, reason, errors, warnings, before, after }: ObjectReview): Answer {
  return {
    allowed: outcome !== 'denied',
    message: errors.length > 0 ? describeErrors(errors) : null,
    decision: decision ?? null,
    reason: reason ?? null,
    warnings,
    patch: diffJson(before, after),
    clusters: placedClusters(after),
  }
}

function placedClusters(object: K8sObject): string[] | null {
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
