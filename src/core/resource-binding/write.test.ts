import { describe, expect, test } from 'vitest'
import { makeBinding, makeInput, NOW } from '../../../test/builders.ts'
import type { BindingSpec, PlacementAffinity } from '../../api/karmada.ts'
import { HOLD_ANNOTATION } from '../../api/lodestone.ts'
import { MAX_ANNOTATIONS_BYTES } from '../admission/object-size.ts'
import { type HoldAnnotation, readAnnotations } from './annotations.ts'
import { parseInput } from './parse-input.ts'
import type { PlacementDecision } from './placement-decision.ts'
import { writeDecision } from './write.ts'

const wide: PlacementAffinity = { clusterAffinity: { clusterNames: ['m1', 'm2'] } }
const narrow: PlacementAffinity = { clusterAffinity: { clusterNames: ['m2'] } }
const hold: HoldAnnotation = { message: 'm', reason: 'Unresolved', since: new Date(NOW).toISOString() }
const onHold = { annotations: { [HOLD_ANNOTATION]: JSON.stringify(hold) } }
const decision = (given: Partial<PlacementDecision>): PlacementDecision => ({
  state: 'Narrowed',
  affinity: wide,
  annotations: {},
  message: '',
  ...given,
})

function write(spec: Partial<BindingSpec>, given: Partial<PlacementDecision>, metadata = {}) {
  const binding = makeBinding({ placement: wide, ...spec }, metadata)
  return {
    binding,
    written: writeDecision(parseInput(makeInput({ binding })), binding.spec.placement ?? {}, decision(given))?.binding,
  }
}

test('a decision that changes nothing returns the same binding', () => {
  const { binding, written } = write({}, {})
  expect(written).toBe(binding)
})

test('the affinity is replaced, and the other fields of the placement stay', () => {
  const placement = { ...wide, clusterTolerations: [{ key: 'a' }] } as BindingSpec['placement'] & object
  expect(write({ placement }, { affinity: narrow }).written?.spec.placement).toEqual({ ...placement, ...narrow })
})

test('of two affinities, only the decided one is left', () => {
  const placement = { ...wide, clusterAffinities: [{ affinityName: 'a' }] }
  expect(write({ placement }, {}).written?.spec.placement).toEqual(wide)
})

test('our annotations are written and removed, and no others', () => {
  const { written } = write({}, { annotations: { base: wide } }, onHold)
  expect(readAnnotations(written?.metadata.annotations)).toEqual({ base: wide })
  expect(Object.keys(written?.metadata.annotations ?? {})).toHaveLength(3)
})

test('no empty map of annotations is left', () => {
  const binding = { ...makeBinding({ placement: wide }), metadata: { name: 'app', ...onHold } }
  const written = writeDecision(parseInput(makeInput({ binding })), wide, decision({}))
  expect(written?.binding.metadata).toStrictEqual({ name: 'app' })
})

test('annotations without space for ours are not written', () => {
  const annotations = { other: 'x'.repeat(MAX_ANNOTATIONS_BYTES) }
  expect(write({}, { annotations: { hold } }, { annotations }).written).toBeUndefined()
})

describe('the suspension', () => {
  const suspension = (dispatching: boolean, scheduling?: boolean) =>
    ({
      ...(dispatching && { dispatching }),
      ...(scheduling !== undefined && { scheduling }),
    }) as BindingSpec['suspension'] & object

  test.each([
    { name: 'is set with a hold', before: undefined, annotations: { hold }, want: { scheduling: true } },
    {
      name: 'is set, and its other fields stay',
      before: suspension(true),
      annotations: { hold },
      want: { dispatching: true, scheduling: true },
    },
    {
      name: 'is not set with a released hold',
      before: undefined,
      annotations: { hold: { ...hold, released: true as const } },
      want: undefined,
    },
    {
      name: 'is removed with our hold',
      before: suspension(false, true),
      metadata: onHold,
      annotations: {},
      want: undefined,
    },
    {
      name: 'keeps its other fields when it is removed',
      before: suspension(true, true),
      metadata: onHold,
      annotations: {},
      want: { dispatching: true },
    },
    {
      name: 'of another writer is not removed',
      before: suspension(false, true),
      annotations: {},
      want: { scheduling: true },
    },
  ])('$name', ({ before, metadata, annotations, want }) => {
    const { written } = write({ ...(before && { suspension: before }) }, { annotations }, metadata)
    expect(written?.spec.suspension).toEqual(want)
  })

  test('of another writer gets no hold annotation', () => {
    const { written } = write({ suspension: suspension(false, true) }, { annotations: { hold } })
    expect(readAnnotations(written?.metadata.annotations).hold).toBeUndefined()
  })
})
