// VolumeManagers that are changed while their data is used, and what is refused, on a real API server with the real scheduler and controllers.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { stringify } from 'yaml'
import type { VolumeConfig, VolumeManager } from '../../src/api/volume-manager.ts'
import { runLodestone } from './command.ts'
import { podOf } from './consumers.ts'
import {
  credentialsSecret,
  filesIn,
  firstVolume,
  type Member,
  onNodes,
  s3Volume,
  startMember,
  volumeManagerOf,
} from './member.ts'

let cluster: Member

beforeAll(async () => {
  cluster = await startMember()
  await cluster.putBucket('lake', { 'old/a.txt': 'old', 'new/a.txt': 'new' })
})
afterAll(() => cluster?.plane.stopAll())

const s3 = (folder: string, over: Partial<VolumeConfig> = {}) => s3Volume(cluster.proxy, `s3://lake/${folder}/`, over)

describe('a VolumeManager in use', () => {
  test('of another source has its new data beside the old, which running pods keep', async () => {
    await cluster.create(volumeManagerOf('source', s3('old')))
    const before = firstVolume(await cluster.reached('source', 'Running'))
    await cluster.create(podOf('conservative', 'source'))
    const node = await cluster.nodeOf('conservative')

    await replace('source', '/spec/volumeConfigs/0/options/sourceURL', 's3://lake/new/')

    const after = await cluster.plane.eventually('the new data is published', async () => {
      const volume = firstVolume(await cluster.reached('source', 'Running'))
      return volume.message === 'success' && volume.revision !== before.revision && volume
    })
    expect(await filesIn(cluster.dataOn(cluster.nodesWith(after)[0] ?? '', after))).toEqual({ 'a.txt': 'new' })
    await cluster.create(podOf('progressive', 'source'))
    expect(cluster.nodesWith(after)).toEqual([await cluster.nodeOf('progressive')])
    await cluster.plane.eventually('the status names the pod that has the old data mounted', async () => {
      const { deletions = [] } = firstVolume(await cluster.reached('source', 'Running'))
      return deletions.some(({ message }) => message === 'in use by default/conservative')
    })
    expect(await filesIn(cluster.dataOn(node, before))).toEqual({ 'a.txt': 'old' })

    await cluster.plane.kubectl(['delete', 'pod', 'conservative'])
    await cluster.plane.eventually('the old data is gone', async () => cluster.nodesWith(before).length === 0)
    expect(cluster.nodesWith(after)).toHaveLength(1)
  })

  test('for other nodes has its data there before it leaves', async () => {
    await cluster.create(volumeManagerOf('moved', s3('old', { nodeAffinity: onNodes('node-1') })))
    const volume = firstVolume(await cluster.reached('moved', 'Running'))
    expect(cluster.nodesWith(volume)).toEqual(['node-1'])
    cluster.proxy.holdAfter(0)

    await replace('moved', '/spec/volumeConfigs/0/nodeAffinity', onNodes('node-2'))

    await cluster.plane.eventually('it is on its way', async () => cluster.proxy.isHolding)
    expect(cluster.nodesWith(volume)).toContain('node-1')
    expect((await cluster.volumeManager('moved'))?.status?.state).toBe('Running')
    cluster.proxy.release()
    await cluster.plane.eventually('it is there only', async () => cluster.nodesWith(volume).join() === 'node-2')
    const manager = await cluster.reached('moved', 'Running')
    await cluster.plane.eventually('the labels are right', async () => {
      return (await cluster.labeledNodes(manager)).join() === 'node-2'
    })
  })

  test('with an error in its source is Failed and keeps its data until it is fixed', async () => {
    await cluster.create(volumeManagerOf('slip', s3('old')))
    const before = firstVolume(await cluster.reached('slip', 'Running'))

    await replace('slip', '/spec/volumeConfigs/0/options/sourceURL', 's3://lake/odl/')
    const { status } = await cluster.reached('slip', 'Failed')
    expect(status?.volumes?.[0]?.message).toMatch(/error during data download using pod .*NotFound/)
    expect(cluster.nodesWith(before)).toHaveLength(1)

    await replace('slip', '/spec/volumeConfigs/0/options/sourceURL', 's3://lake/old/')
    const mended = firstVolume(await cluster.reached('slip', 'Running'))
    expect(mended.volumeSource).toEqual(before.volumeSource)
    expect(mended.replicas).toMatchObject([{ state: 'Ready', attempt: 1 }])
  })

  test('less one volume has that one deleted, and the other left alone', async () => {
    await cluster.create(volumeManagerOf('pair', s3('old'), s3('new', { id: 'vol2' })))
    const { status } = await cluster.reached('pair', 'Running')
    const [first, second] = status?.volumes ?? []

    await cluster.plane.kubectl([
      'patch',
      'vmgr',
      'pair',
      '--type=json',
      '-p',
      '[{"op":"remove","path":"/spec/volumeConfigs/0"}]',
    ])

    await cluster.plane.eventually('its data is gone', async () => first && cluster.nodesWith(first).length === 0)
    await cluster.plane.eventually('so is its status', async () => {
      return (await cluster.reached('pair', 'Running')).status?.volumes?.length === 1
    })
    expect(second && cluster.nodesWith(second)).toHaveLength(1)
  })
})

test('two of one long name in two namespaces have data and nodes of their own', async () => {
  const { plane } = cluster
  const name = `dataset-${'long-'.repeat(28)}name`
  await plane.kubectl(['create', 'namespace', 'other'])
  const secret = credentialsSecret('aws-creds', cluster.s3.accessKey, cluster.s3.secretKey)
  await plane.apply({ ...secret, metadata: { name: 'aws-creds', namespace: 'other' } })
  const inOther = volumeManagerOf(name, s3('new'))
  await cluster.create(volumeManagerOf(name, s3('old')))
  await cluster.create({ ...inOther, metadata: { name, namespace: 'other' } })
  const mine = await cluster.reached(name, 'Running')
  const theirs = await plane.eventually('the other one runs', async () => {
    const found = (await plane.getJson('vmgr', name, 'other')) as unknown as VolumeManager
    return found.status?.state === 'Running' && found
  })

  const [mineVolume, theirVolume] = [firstVolume(mine), firstVolume(theirs)]
  expect(mineVolume.volumeSource).not.toEqual(theirVolume.volumeSource)
  expect(mineVolume.nodeAffinity).not.toEqual(theirVolume.nodeAffinity)
  await plane.kubectl(['delete', 'vmgr', name, '--timeout=60s'], { timeoutMs: 70_000 })

  expect(cluster.nodesWith(mineVolume)).toEqual([])
  const [node = ''] = cluster.nodesWith(theirVolume)
  expect(await filesIn(cluster.dataOn(node, theirVolume))).toEqual({ 'a.txt': 'new' })
  expect(await cluster.labeledNodes(theirs)).toEqual([node])
})

describe('refused with the way out is', () => {
  test('a directory outside of the allowed ones, also by a change', async () => {
    const { stderr } = await cluster.tryCreate(volumeManagerOf('outside', s3('old', { options: { dataPath: '/etc' } })))
    expect(stderr).toContain('spec.volumeConfigs[0].options.dataPath: dataPath has to be below /var/datasets.')

    await cluster.create(volumeManagerOf('inside', s3('old')))
    const patch = { op: 'add', path: '/spec/volumeConfigs/0/options/dataPath', value: '/var/datasets/../../etc' }
    const changed = await cluster.plane.kubectl(
      ['patch', 'vmgr', 'inside', '--type=json', '-p', JSON.stringify([patch])],
      {
        allowFailure: true,
      },
    )
    expect(changed.stderr).toContain('dataPath has to be an absolute path without "." and ".."')
  })

  test.each(['kvc.kubeflow.org/v1', 'vck.intelai.org/v1'])(
    '%s, which no API server serves, by lodestone check',
    async (apiVersion) => {
      const older = { ...volumeManagerOf('older', s3('old')), apiVersion }
      expect((await cluster.tryCreate(older)).code).not.toBe(0)
      const file = join(cluster.plane.dir, 'older.yaml')
      await writeFile(file, stringify(older))

      const checked = await runLodestone(['check', '-f', file])

      expect(checked.stdout + checked.stderr).toContain('write apiVersion: vck.intelai.org/v1alpha1')
    },
  )
})

async function replace(name: string, path: string, value: unknown): Promise<void> {
  await cluster.plane.kubectl([
    'patch',
    'vmgr',
    name,
    '--type=json',
    '-p',
    JSON.stringify([{ op: 'replace', path, value }]),
  ])
}
