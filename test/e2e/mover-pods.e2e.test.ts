// What a VolumeManager chooses for its movers: validation rejects it if the API server would reject the Pods of these movers.
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { NodeSelectorTerm } from '../../src/api/node.ts'
import type { VolumeConfig } from '../../src/api/volume-manager.ts'
import { DEFAULT_CONFIG } from '../../src/app/config/config.ts'
import { replicaMover } from '../../src/core/volume-manager/mover/build.ts'
import { DEFAULT_VOLUME_LIMITS } from '../../src/core/volume-manager/rules/settings.ts'
import { validateVolumeManager } from '../../src/core/volume-manager/rules/validate.ts'
import { makeVolume, makeVolumeManager } from '../builders.ts'
import { makeReplica } from '../volume-builders.ts'
import { type ControlPlane, startControlPlane } from './control-plane.ts'

const limits = { ...DEFAULT_VOLUME_LIMITS, allowedMoverImages: ['*'] }

let plane: ControlPlane

beforeAll(async () => {
  plane = await startControlPlane({ karmada: false })
  await plane.kubectl(['create', 'serviceaccount', 'lodestone-mover'])
})

afterAll(() => plane?.stopAll())

test.each<{ choice: Partial<VolumeConfig> }>(
  [
    ...[{}, { key: 'a' }, { key: 'a', operator: 'exists' }, { operator: 'Exists' }, { operator: 'Equal', value: 'a' }],
    ...[{ key: 'a b' }, { key: 'a/b/c' }, { key: 'example.com/a', value: 'b' }, { key: 'a', value: 'b c' }],
    ...[
      { key: 'a', operator: 'Exists', value: 'b' },
      { key: 'a', effect: 'noSchedule' },
      { key: 'a', effect: '' },
    ],
    ...[
      { key: 'a', tolerationSeconds: 5 },
      { key: 'a', effect: 'NoExecute', tolerationSeconds: 5 },
    ],
  ].map((toleration) => ({ choice: { tolerations: [toleration] } })),
)('tolerations: $choice.tolerations', expectNoRejectedPod)

test.each<{ choice: Partial<VolumeConfig> }>(
  [
    ...[{ requests: { cpu: 'much' } }, { limits: { cpu: '-1' } }, { limits: { cpu: '.5' } }, { limits: { gpu: '1' } }],
    ...[
      { requests: { cpu: '2' }, limits: { cpu: '1' } },
      { requests: { cpu: '1' }, limits: { cpu: '1000m' } },
    ],
    ...[{ requests: { 'a.com/b': '1' } }, { limits: { 'a.com/b': '1' } }, { limits: { 'a.com/b': '500m' } }],
    ...[{ requests: { 'a.com/b': '1' }, limits: { 'a.com/b': '2' } }, { limits: { 'a b/c': '1' } }],
  ].map((resources) => ({ choice: { mover: { resources } } })),
)('resources: $choice.mover.resources', expectNoRejectedPod)

test.each<{ choice: Partial<VolumeConfig> }>(
  [
    ...[expression('', 'Exists'), expression('a b', 'Exists'), expression('a.com/b', 'Exists'), expression('a', 'Is')],
    ...[
      expression('a', 'In', 'b c'),
      expression('a', 'In', ''),
      expression('a', 'Gt', 'b'),
      expression('a', 'Gt', '1'),
    ],
    ...[named('n1'), named('Node 1'), named('')],
  ].map((term) => ({ term, choice: onNodes(term) })),
)('node affinity: $term', expectNoRejectedPod)

test.each<{ choice: Partial<VolumeConfig> }>(['', ' ', 'mover:1'].map((image) => ({ choice: { mover: { image } } })))(
  'image: $choice.mover.image',
  expectNoRejectedPod,
)

test.each<{ choice: Partial<VolumeConfig> }>(
  ['1ns', '596524h', '9999999999999999h'].map((timeout) => ({
    choice: { options: { ...makeVolume().options, timeoutForDataDownload: timeout } },
  })),
)('timeout: $choice.options.timeoutForDataDownload', expectNoRejectedPod)

function expression(key: string, operator: string, ...values: string[]): NodeSelectorTerm {
  return { matchExpressions: [{ key, operator, ...(values.length > 0 && { values }) }] }
}

function named(node: string): NodeSelectorTerm {
  return { matchFields: [{ key: 'metadata.name', operator: 'In', values: [node] }] }
}

function onNodes(term: NodeSelectorTerm): Partial<VolumeConfig> {
  return { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [term] } } }
}

async function expectNoRejectedPod({ choice }: { choice: Partial<VolumeConfig> }): Promise<void> {
  const config = makeVolume(choice)
  const manager = makeVolumeManager([choice])
  const { metadata, ...pod } = replicaMover({
    manager,
    config,
    slot: 0,
    networks: [],
    localRoots: [],
    settings: DEFAULT_CONFIG.volumes.movers,
    replica: makeReplica({ state: 'Queued' }),
    placement: { affinity: config.nodeAffinity, withoutLabels: [], notOn: [] },
  })
  const body = { ...pod, metadata: { ...metadata, namespace: 'default', ownerReferences: [] } }
  const response = await plane.api.request('POST', '/api/v1/namespaces/default/pods?dryRun=All', body)
  const errors = validateVolumeManager(manager, limits)

  // Validation also rejects what the scheduler, or an older API server, takes as a requirement that no node meets.
  expect(response.status === 201 || errors.length > 0, JSON.stringify(response.body)).toBe(true)
}
