/** Properties of the injection for every pod and any requested volumes. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { makeUsable, nodesWith } from '../../../../test/builders.ts'
import type { Node } from '../../../api/node.ts'
import type { PodSpec } from '../../../api/pod.ts'
import { diffJson } from '../../admission/diff.ts'
import { allowsNode } from '../../volume-manager/nodes/feasibility.ts'
import type { WantedVolume } from '../requests/resolve.ts'
import { injectVolumes } from './inject.ts'

const LABELS = ['a', 'b', 'c', 'd']
const label = fc.constantFrom(...LABELS)
const nodeAffinity = fc.oneof(
  fc.constant({}),
  fc.uniqueArray(label, { minLength: 1, maxLength: 3 }).map((keys) => nodesWith(...keys)),
)
const mountPath = fc.constantFrom('/a', '/b', '/a/b', '/var/datasets', '/a/')
const container = fc.constantFrom('main', 'side', 'setup')

const wanted: fc.Arbitrary<WantedVolume> = fc
  .record({
    id: fc.constantFrom('v1', 'v2', 'v3'),
    nodeAffinity,
    request: fc.record(
      {
        enforcement: fc.constantFrom('Required' as const, 'Preferred' as const),
        readOnly: fc.boolean(),
        'mount-path': mountPath,
        containers: fc.array(fc.record({ name: container, 'mount-path': mountPath }), { maxLength: 2 }),
      },
      { requiredKeys: [] },
    ),
  })
  .map(({ id, nodeAffinity: affinity, request }) => {
    const volume = makeUsable(id, { nodeAffinity: affinity })
    return { path: id, request: { name: 'manager', ...request }, volume, source: volume.source ?? {} }
  })
/** One volume always has the same content. */
const wantedList = fc.array(wanted, { minLength: 1, maxLength: 3 }).map((list) =>
  list.map((one) => ({
    ...one,
    volume: list.find(({ volume }) => volume.id === one.volume.id)?.volume ?? one.volume,
  })),
)

const ownVolumes = fc.uniqueArray(fc.constantFrom('v1', 'v2', 'own'), { maxLength: 2 })
const spec: fc.Arbitrary<PodSpec> = fc
  .record({
    ownVolumes,
    nodeAffinity,
    mounts: fc.uniqueArray(mountPath, { maxLength: 2, selector: (path) => path.replace(/\/$/, '') }),
  })
  .map(
    ({ ownVolumes: ids, nodeAffinity: affinity, mounts }) =>
      ({
        containers: [
          {
            name: 'main',
            image: 'main:1',
            volumeMounts:
              ids.length > 0
                ? mounts.map((path, i) => ({ name: `my-${ids[i % ids.length]}`, mountPath: path, subPath: 's' }))
                : [],
          },
          { name: 'side', newField: { deep: [1] } },
        ],
        initContainers: [{ name: 'setup', restartPolicy: 'Always' }],
        volumes: ids.map((id) => ({
          name: `my-${id}`,
          hostPath: { path: `/var/datasets/${id}` },
          newField: undefined,
        })),
        affinity: { nodeAffinity: affinity, podAffinity: { newField: 1 } },
        unknown: { to: 'us' },
      }) as unknown as PodSpec,
  )
const node: fc.Arbitrary<Pick<Node, 'metadata'>> = fc
  .subarray(LABELS)
  .map((keys) => ({ metadata: { name: 'n', labels: Object.fromEntries(keys.map((key) => [key, ''])) } }))

const holds = (check: (spec: PodSpec, wanted: WantedVolume[], on: Pick<Node, 'metadata'>) => void) =>
  fc.assert(fc.property(spec, wantedList, node, check), { numRuns: 1_500 })

const isRequired = ({ request }: WantedVolume) => request.enforcement !== 'Preferred'

test('a second injection changes nothing', () => {
  holds((before, list) => {
    const once = injectVolumes(before, list)
    if ('errors' in once) return
    expect(injectVolumes(once.spec, list)).toEqual(once)
    expect(diffJson(once.spec, (injectVolumes(once.spec, list) as { spec: PodSpec }).spec)).toEqual([])
  })
})

test('the order of the volumes affects neither the pod nor a rejection', () => {
  holds((before, list) => {
    const resultOf = (volumes: WantedVolume[]) => {
      const result = injectVolumes(before, volumes)
      return 'errors' in result ? 'refused' : result
    }
    expect(resultOf(list.toReversed())).toEqual(resultOf(list))
  })
})

test('the pod may run exactly on its earlier nodes that have all of its required data', () => {
  holds((before, list, on) => {
    const result = injectVolumes(before, list)
    if ('errors' in result) return
    const ran = allowsNode(before.affinity?.nodeAffinity, on)
    const has = list.filter(isRequired).every(({ volume }) => allowsNode(volume.nodeAffinity, on))
    expect(allowsNode(result.spec.affinity?.nodeAffinity, on)).toBe(ran && has)
  })
})

test('nothing is removed: every member, volume and mount stays', () => {
  holds((before, list) => {
    const result = injectVolumes(before, list)
    if ('errors' in result) return
    const { containers, initContainers, volumes, affinity, ...rest } = result.spec
    const { containers: c, initContainers: i, volumes: v, affinity: a, ...own } = before
    expect(rest).toEqual(own)
    expect(volumes?.slice(0, v?.length)).toEqual(v)
    expect(affinity).toMatchObject({ podAffinity: { newField: 1 } })
    for (const [n, was] of [...c, ...(i ?? [])].entries()) {
      const { volumeMounts: now = [], ...is } = [...containers, ...(initContainers ?? [])][n] ?? { name: '' }
      const { volumeMounts: mounts = [], ...had } = was
      expect(is).toEqual(had)
      expect(now?.slice(0, mounts?.length)).toEqual(mounts)
    }
  })
})

test('an API server accepts it: unique names and paths, all volumes, no empty term', () => {
  holds((before, list) => {
    const result = injectVolumes(before, list)
    if ('errors' in result) return
    const names = (result.spec.volumes ?? []).map(({ name }) => name)
    expect(new Set(names).size).toBe(names.length)
    for (const { volumeMounts } of [...result.spec.containers, ...(result.spec.initContainers ?? [])]) {
      const paths = (volumeMounts ?? []).map((mount) => mount.mountPath)
      expect(new Set(paths).size).toBe(paths.length)
      for (const { name } of volumeMounts ?? []) expect(names).toContain(name)
    }
    const required = result.spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution
    expect(required?.nodeSelectorTerms.length).not.toBe(0)
  })
})
