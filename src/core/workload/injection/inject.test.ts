import { describe, expect, test } from 'vitest'
import { makeUsable, managers, nodesWith } from '../../../../test/builders.ts'
import type { NodeSelectorTerm } from '../../../api/node.ts'
import type { PodSpec } from '../../../api/pod.ts'
import { defined } from '../../../base/json.ts'
import { MAX_REQUIREMENTS, MAX_TERMS } from '../requests/limits.ts'
import { resolveRequests, type WantedVolume } from '../requests/resolve.ts'
import { parseVolumeRequests } from '../requests/volume-requests.ts'
import { injectorOf, injectVolumes, volumeName } from './inject.ts'
import type { UsableVolume } from './mountable-volumes.ts'

const main: PodSpec = { containers: [{ name: 'main' }] }
const NAME = volumeName('mnist', 'vol1', undefined)

/** The wanted volumes for requests of volumes of the VolumeManager mnist. */
function wanted(asks: object[], volumes: UsableVolume[] = [makeUsable('vol1')]): WantedVolume[] {
  const parsed = parseVolumeRequests(JSON.stringify(asks.map((ask) => ({ name: 'mnist', ...ask }))))
  if ('errors' in parsed) throw new Error(JSON.stringify(parsed.errors))
  return resolveRequests(parsed.requests, managers({ name: 'mnist', volumes })).wanted
}

function injected(spec: PodSpec, ...rest: Parameters<typeof wanted>): PodSpec {
  const result = injectVolumes(spec, wanted(...rest))
  if ('errors' in result) throw new Error(JSON.stringify(result.errors))
  return result.spec
}

const withTerms = (nodeSelectorTerms: NodeSelectorTerm[]): PodSpec => ({
  ...main,
  affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } } },
})

describe('a pod spec', () => {
  test('without volumes gets the volume, its mount, and the nodes that have the data', () => {
    expect(injected(main, [{ 'mount-path': '/data' }])).toEqual({
      containers: [{ name: 'main', volumeMounts: [{ name: NAME, mountPath: '/data' }] }],
      volumes: [{ name: NAME, hostPath: { path: '/var/datasets/vol1', type: 'Directory' } }],
      affinity: { nodeAffinity: nodesWith('data/vol1') },
    })
  })

  test('without requests stays as it is, without an empty list of volumes', () => {
    expect(injectVolumes(main, [])).toStrictEqual({ spec: main })
  })

  test('keeps the affinity object if nothing is added', () => {
    const once = injected(withTerms([{ matchExpressions: [{ key: 'gpu', operator: 'Exists' }] }]), [{}])
    expect(injected(once, [{}]).affinity).toBe(once.affinity)
  })
})

test('a volume of the pod with our name and other data is an error with its path', () => {
  const volumes = [{ name: NAME, emptyDir: {} }]
  expect(injectorOf(wanted([{}]))({ ...main, volumes }, 'spec.template.spec')).toEqual({
    errors: [
      {
        path: 'spec.template.spec.volumes[0].name',
        code: 'Duplicate',
        message: `${NAME} duplicates the name of volume vol1 of VolumeManager mnist; rename the volume of the pod`,
      },
    ],
  })
})

describe('the terms of node affinity have a limit:', () => {
  const expressions = (count: number, prefix: string) =>
    Array.from({ length: count }, (_, i) => ({ key: `${prefix}${i}`, operator: 'Exists' }))
  const terms = (count: number, each: number, fields = 0): NodeSelectorTerm[] =>
    Array.from({ length: count }, (_, i) =>
      defined({
        matchExpressions: expressions(each, `t${i}-`),
        matchFields: fields > 0 ? expressions(fields, 'f') : undefined,
      }),
    )
  const tooLong = {
    errors: [
      {
        path: 'spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms',
        code: 'TooLong',
        message: expect.stringContaining('must have at most 100 terms and 10000 requirements'),
      },
    ],
  }

  // The volume adds one requirement to each term.
  test.each([
    { name: 'the maximum number of terms', own: terms(MAX_TERMS, 1), isTooLong: false },
    { name: 'one more term', own: terms(MAX_TERMS + 1, 1), isTooLong: true },
    { name: 'the maximum number of requirements', own: terms(10, MAX_REQUIREMENTS / 10 - 1), isTooLong: false },
    { name: 'more requirements', own: terms(10, MAX_REQUIREMENTS / 10), isTooLong: true },
    { name: 'more field requirements', own: terms(10, 1, MAX_REQUIREMENTS / 10), isTooLong: true },
  ])('$name', ({ own, isTooLong }) => {
    const result = injectVolumes(withTerms(own), wanted([{}]))
    expect(result).toEqual(isTooLong ? tooLong : { spec: expect.anything() })
  })
})

describe('preferred volumes', () => {
  test.each<{ name: string; bytes: [number | undefined, number | undefined]; want: [number, number] }>([
    { name: 'get a weight by their share of the bytes', bytes: [30, 70], want: [30, 70] },
    { name: 'get a weight of at least 1', bytes: [1, 1000], want: [1, 100] },
    { name: 'get equal weights if one size is unknown', bytes: [30, undefined], want: [50, 50] },
    { name: 'get equal weights if no size is known', bytes: [undefined, undefined], want: [50, 50] },
    { name: 'get equal weights if they are empty', bytes: [0, 0], want: [50, 50] },
  ])('$name', ({ bytes, want }) => {
    const volumes = bytes.map((size, i) => makeUsable(`vol${i}`, size === undefined ? {} : { bytes: size }))
    const asks = volumes.map(({ id }) => ({ id, 'mount-path': `/${id}`, enforcement: 'Preferred' }))
    const preferences = injected(main, asks, volumes).affinity?.nodeAffinity
      ?.preferredDuringSchedulingIgnoredDuringExecution
    expect(preferences?.map(({ weight, preference }) => [weight, preference.matchExpressions?.[0]?.key])).toEqual([
      [want[0], 'data/vol0'],
      [want[1], 'data/vol1'],
    ])
  })
})
