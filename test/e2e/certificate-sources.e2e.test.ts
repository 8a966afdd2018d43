// A rolling update that changes the source of certificates: the API server trusts the replicas of both sources, and no request fails.
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import type { WebhookConfiguration } from '../../src/api/registration.ts'
import { type Balancer, startBalancer } from './balancer.ts'
import { namespaceOf } from './chart.ts'
import { type ControlPlane, startControlPlane } from './control-plane.ts'
import { installLodestone, leaseRights } from './lodestone.ts'
import { volumeManagerOf } from './member.ts'
import { startReplica } from './replicas.ts'

const managers = '/apis/vck.intelai.org/v1alpha1/namespaces/default/volumemanagers?dryRun=All'

let plane: ControlPlane
let kubeconfig: string
let balancer: Balancer

beforeAll(async () => {
  balancer = await startBalancer()
  plane = await startControlPlane({ karmada: false })
  plane.onStop(() => balancer.stop())
  kubeconfig = await installLodestone(plane)
  await plane.apply([...leaseRights(), namespaceOf('default', { 'lodestone.dev/enforce': 'true' })])
})
afterAll(() => plane?.stopAll())

/** Returns the number of registered CAs. */
async function registeredCas(): Promise<number> {
  const found = (await plane.getJson('mutatingwebhookconfigurations', 'lodestone')) as unknown as WebhookConfiguration
  const [bundle = ''] = found.webhooks?.map(({ clientConfig }) => clientConfig.caBundle ?? '') ?? []
  return atob(bundle).match(/BEGIN CERTIFICATE/g)?.length ?? 0
}

/** A folder with a certificate of another CA, as cert-manager writes it. */
async function certificateFiles(): Promise<string> {
  const request = { name: 'other', commonName: 'lodestone', ipAddresses: ['127.0.0.1'] }
  const { certificate, key } = await plane.pki.issue(request)
  const folder = join(plane.dir, 'certificate-files')
  await mkdir(folder)
  const files = { 'tls.crt': certificate, 'tls.key': key, 'ca.crt': plane.pki.caCertificate }
  await Promise.all(Object.entries(files).map(([name, text]) => writeFile(join(folder, name), text)))
  return folder
}

test('a replica with another CA becomes ready, and takes over', async () => {
  const config = { volumes: { enabled: true } }
  const before = await startReplica(plane, balancer, { name: 'before', kubeconfig, config })
  const options = { awsCredentialsSecretName: '', sourceURL: 's3://lake/train/' }
  const volume = { id: 'vol1', replicas: 1, sourceType: 'S3', accessMode: 'ReadWriteOnce', labels: { a: 'b' }, options }
  const failures: unknown[] = []
  const loading = new AbortController()
  onTestFinished(() => loading.abort())
  const load = (async () => {
    while (!loading.signal.aborted) {
      const { status, body } = await plane.api.request('POST', managers, volumeManagerOf('load', volume))
      if (status !== 201) failures.push({ status, body })
      await sleep(20)
    }
  })()

  const certificates = { source: 'files', directory: await certificateFiles() }
  await startReplica(plane, balancer, { name: 'after', kubeconfig, config: { ...config, certificates } })
  expect(await registeredCas()).toBe(2)
  await before.lodestone.stop(30_000)
  balancer.remove(before)
  await plane.eventually('the former CA is removed', async () => (await registeredCas()) === 1, 30_000)
  loading.abort()
  await load

  expect(failures).toEqual([])
})
