import { describe, expect, test } from 'vitest'
import { ANY_NODE, makeObject, makePod, makeUsable, managers, nodesWith } from '../../../../test/builders.ts'
import { VOLUMES_ANNOTATION } from '../../../api/lodestone.ts'
import { apiVersionOf, type K8sObject } from '../../../api/meta.ts'
import { pathSegments } from '../../../base/json-path.ts'
import { jsonBytes, MAX_OBJECT_BYTES } from '../../admission/object-size.ts'
import { hasPods, SHIPPED_KINDS, type WorkloadKind } from '../../workload-kinds/kinds.ts'
import { decidePod } from '../decide-pod.ts'
import { decideWorkload } from '../decide-workload.ts'

const range = (count: number) => Array.from({ length: count }, (_, i) => i)
const containers = (count: number) => range(count).map((i) => ({ name: `c${i}` }))
const mnist = managers({ name: 'mnist', volumes: range(64).map((i) => makeUsable(`v${i}`)) })
/** Requests with a mount path of this length. */
const asks = (count: number, pathLength: number) =>
  range(count).map((i) => ({ name: 'mnist', id: `v${i}`, 'mount-path': `/${i}/${'x'.repeat(pathLength)}` }))

/** An object with this many values in each list and map of a path. */
function objectAt(path: string, count: number, value: object): unknown {
  const build = ([segment, ...rest]: readonly string[]): unknown => {
    if (segment === undefined) return value
    if (segment === '*') return range(count).map(() => build(rest))
    return { [segment]: build(rest) }
  }
  return build(pathSegments(path))
}

function workload(
  { type, templates = [], podMetadata = [] }: WorkloadKind,
  count: number,
  requests: object,
): K8sObject {
  const annotations = { [VOLUMES_ANNOTATION]: JSON.stringify(requests) }
  const path = [...templates, ...podMetadata].find((one) => one.includes('*')) ?? templates[0] ?? ''
  const place = templates.includes(path) ? { spec: { containers: containers(1) } } : { labels: { app: 'app' } }
  const content = objectAt(path, count, place) as object
  const object = makeObject(apiVersionOf(type), type.kind, 'train', content)
  return { ...object, metadata: { ...object.metadata, annotations } }
}

const decide = (object: K8sObject, kind: WorkloadKind) =>
  decideWorkload({ object, stored: undefined, kind, managers: mnist, isHub: false })

const kinds = SHIPPED_KINDS.all.filter((kind) => kind.type.kind !== 'Pod' && hasPods(kind))
const withLists = kinds.filter(({ templates = [], podMetadata = [], inherits, allPods }) => {
  return !inherits && allPods === undefined && [...templates, ...podMetadata].some((path) => path.includes('[*]'))
})

describe('a workload whose copies of the annotation do not fit into etcd is rejected', () => {
  test('with the path of the annotation, and the numbers of bytes', () => {
    const kind = SHIPPED_KINDS.find('batch.volcano.sh/v1alpha1', 'Job') as WorkloadKind
    const requests = asks(40, 900)
    const object = workload(kind, 500, requests)
    expect(decide(object, kind)).toEqual({
      kind: 'deny',
      errors: [
        {
          path: 'metadata.annotations[lodestone.dev/volumes]',
          code: 'TooLong',
          message: expect.stringMatching(
            /^its copies in 500 pod templates would add \d{8} bytes to the \d+ of the object, more than the 1572864 that etcd stores; request fewer volumes, or divide the workload$/,
          ),
        },
      ],
    })
  })

  test.each(withLists.map((kind) => ({ name: `${kind.type.kind} of ${kind.type.group}`, kind })))(
    '$name',
    ({ kind }) => {
      const object = workload(kind, 400, asks(40, 900))
      expect(decide(object, kind).kind).toBe('deny')
    },
  )

  test.each(kinds.map((kind) => ({ name: `${kind.type.kind} of ${kind.type.group}`, kind })))(
    'and fits in every other case: $name',
    ({ kind }) => {
      for (const [count, pathLength] of [
        [1, 900],
        [20, 900],
        [20, 100],
        [400, 5],
      ] as const) {
        const outcome = decide(workload(kind, count, asks(40, pathLength)), kind)
        const written = outcome.kind === 'patch' ? outcome.object : {}
        expect(jsonBytes(written)).toBeLessThanOrEqual(MAX_OBJECT_BYTES)
      }
    },
  )

  test('but not if the templates have the annotation already, since nothing is added', () => {
    const kind = SHIPPED_KINDS.find('batch.volcano.sh/v1alpha1', 'Job') as WorkloadKind
    const small = decide(workload(kind, 2, asks(1, 10)), kind)
    if (small.kind !== 'patch') throw new Error('not labeled')
    const labeled = { ...small.object, status: { message: 'x'.repeat(MAX_OBJECT_BYTES) } } as K8sObject
    expect(decide(labeled, kind)).toEqual({ kind: 'allow' })
  })
})

describe('a pod that does not fit into etcd with its volumes is rejected', () => {
  const decideFor = (requests: object, spec: object, lookup = mnist) =>
    decidePod({ pod: makePod(requests, spec), managers: lookup, ...ANY_NODE, whenNotReady: 'gate', isHub: false })

  test('for long mount paths in many containers', () => {
    expect(decideFor(asks(60, 900), { containers: containers(330) })).toEqual({
      kind: 'deny',
      errors: [
        {
          path: 'spec',
          code: 'TooLong',
          message:
            'would have more than the 1572864 bytes that etcd stores, with 60 volumes in 330 containers; request fewer volumes, or use shorter mount paths',
        },
      ],
    })
  })

  test('for node affinities of volumes with many long values', () => {
    const values = range(1000).map((i) => `${i}-${'x'.repeat(240)}`)
    const nodeAffinity = {
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: [{ matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'In', values }] }],
      },
    }
    const lookup = managers({ name: 'mnist', volumes: range(8).map((i) => makeUsable(`v${i}`, { nodeAffinity })) })
    for (const enforcement of ['Required', 'Preferred']) {
      const requests = asks(8, 5).map((request) => ({ ...request, enforcement }))
      expect(decideFor(requests, {}, lookup)).toEqual({
        kind: 'deny',
        errors: [
          {
            path: 'metadata.annotations[lodestone.dev/volumes][6]',
            code: 'TooLong',
            message:
              'the node affinities of the volumes up to this one have more than 1572864 bytes; request fewer volumes, or use fewer values in their nodeAffinity',
          },
        ],
      })
    }
  })

  test('and a workload with such pods as well, with the path of its pod template', () => {
    const kind = SHIPPED_KINDS.find('apps/v1', 'Deployment') as WorkloadKind
    const object = makeObject('apps/v1', 'Deployment', 'app', {
      spec: { template: { spec: { containers: containers(330) } } },
    })
    const annotations = { [VOLUMES_ANNOTATION]: JSON.stringify(asks(60, 900)) }
    const outcome = decide({ ...object, metadata: { ...object.metadata, annotations } }, kind)
    expect(outcome.kind === 'deny' && outcome.errors).toEqual([
      { path: 'spec.template.spec', code: 'TooLong', message: expect.stringContaining('1572864 bytes') },
    ])
  })

  test('and the largest pod that fits is stored', () => {
    const lookup = managers({
      name: 'mnist',
      volumes: range(64).map((i) => makeUsable(`v${i}`, { nodeAffinity: nodesWith('data') })),
    })
    const outcome = decideFor(asks(60, 5), { containers: containers(330) }, lookup)
    if (outcome.kind !== 'patch') throw new Error(JSON.stringify(outcome))
    expect(jsonBytes(outcome.object)).toBeLessThanOrEqual(MAX_OBJECT_BYTES)
  })
})
