import { describe, expect, test } from 'vitest'
import { makeVolumeManager } from '../../../test/builders.ts'
import { makeReplica } from '../../../test/volume-builders.ts'
import { defined } from '../../base/json.ts'
import { runWords } from '../cli.fake.ts'
import { status } from './status.fake.ts'

describe('volumes', () => {
  const managed = (replicas: ReturnType<typeof makeReplica>[], message?: string) =>
    makeVolumeManager([{ replicas: 2 }], {
      status: {
        state: message === 'success' ? 'Running' : 'Pending',
        volumes: [
          defined({
            id: 'vol1',
            nodeAffinity: {},
            readyReplicas: replicas.filter(({ state }) => state === 'Ready').length,
            bytes: 5 * 1024 ** 3,
            replicas,
            message: message || undefined,
          }),
        ],
      },
    })

  test('the folder examples/member is shown', async () => {
    const { status: exit, stdout, stderr } = await runWords(['status', '--folder', 'examples/member', '-A'])

    expect({ exit, stderr }).toEqual({ exit: 0, stderr: '' })
    expect(stdout).toContain(`VOLUMES (3)
VOLUMEMANAGER   VOLUME   STATE     REPLICAS   SIZE       NODES   MESSAGE
demo/corpus     text     Pending   0/1                           no controller has reported its state yet
demo/mnist      images   Running   2/2        11.1 MiB
demo/weights    bert     Pending   0/1                           no controller has reported its state yet
`)
    expect(stdout).toContain('Pod demo/tuner   -       waits for VolumeManager weights/bert\n')
  })

  test('are shown with their nodes, and why replicas are missing', async () => {
    const ready = makeReplica({ state: 'Ready', node: 'n1' })
    const failed = makeReplica({ index: 1, state: 'Failed', node: 'n2', reason: 'AccessDenied', message: 'HTTP 403' })

    const { stdout } = await status([managed([ready, failed])], '--volumes', '-o', 'wide')

    expect(stdout).toBe(`VOLUMES (1)
VOLUMEMANAGER   VOLUME   STATE     REPLICAS   SIZE      NODES   SOURCE   REASON         MESSAGE
default/sales   vol1     Pending   1/2        5.0 GiB   n1      S3       AccessDenied   HTTP 403
`)
  })

  test.each([
    { name: 'a pending volume of a failed VolumeManager', message: undefined, state: 'Failed', want: 'Pending' },
    { name: 'a failed volume', message: 'error', state: 'Failed', want: 'Failed' },
    { name: 'a usable volume of a failed VolumeManager', message: 'success', state: 'Failed', want: 'Running' },
    { name: 'a deleted volume', message: 'deleted', state: 'Completed', want: 'Completed' },
  ] as const)('$name is $want', async ({ message, state, want }) => {
    const manager = makeVolumeManager([{}], {
      status: { state, volumes: [defined({ id: 'vol1', nodeAffinity: {}, message })] },
    })

    const { stdout } = await status([manager], '--volumes', '-o', 'json')

    expect(JSON.parse(stdout).volumes).toMatchObject([{ state: want }])
  })

  test.each([
    { name: 'NFS is one replica', volume: { sourceType: 'NFS', options: { server: 'nfs', path: '/data' } }, want: 1 },
    { name: 'parts are added', volume: { options: { distributionStrategy: '{"a*": 2, "b*": 1}' } }, want: 3 },
  ])('$name', async ({ volume, want }) => {
    const options = { awsCredentialsSecretName: 'aws-creds', sourceURL: 's3://lake/sales/', ...volume.options }
    const nfs = { accessMode: 'ReadWriteMany', options: volume.options as Record<string, string> }
    const config = { ...volume, replicas: want, ...(volume.sourceType ? nfs : { options }) }

    const { stdout } = await status([makeVolumeManager([config])], '--volumes', '-o', 'json')

    expect(JSON.parse(stdout).volumes).toMatchObject([{ replicas: want }])
  })
})
