// The real helm installs the previous chart, upgrades it, rolls it back and uninstalls it, with processes of the rendered Deployments.
import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import type { WebhookConfiguration } from '../../src/api/registration.ts'
import type { Balancer } from './balancer.ts'
import { chart, type Helm, namespaceOf } from './chart.ts'
import { main } from './command.ts'
import type { ControlPlane } from './control-plane.ts'
import { type ChartCluster, type DeployedPod, deployedValues, startChartCluster, startDeployed } from './deployed.ts'
import { runBlock } from './page-block.ts'
import { previousChart, previousRelease } from './previous-release.ts'

// A registration without a version stays for 60 s.
const registrationTimeoutMs = 150_000
const managers = '/apis/vck.intelai.org/v1alpha1/namespaces/default/volumemanagers'

export interface ChartUpgrade {
  // Waits after each upgrade until the newer version replaces the registration of the older one.
  isLong: boolean
  timeoutMs: number
}

const manager = (name: string) => ({
  apiVersion: 'vck.intelai.org/v1alpha1',
  kind: 'VolumeManager',
  metadata: { name, namespace: 'default' },
  spec: {
    volumeConfigs: [
      {
        id: 'vol1',
        replicas: 1,
        sourceType: 'S3',
        accessMode: 'ReadWriteOnce',
        capacity: '1Gi',
        labels: { key: 'value' },
        options: { awsCredentialsSecretName: 'creds', sourceURL: 's3://bucket/data/' },
      },
    ],
  },
})

export function testChartUpgrade({ isLong, timeoutMs }: ChartUpgrade): void {
  let cluster: ChartCluster
  let plane: ControlPlane
  let helm: Helm
  let balancer: Balancer
  let oldEntry: string
  let oldChart: string
  let values: object

  beforeAll(async () => {
    oldEntry = await previousRelease()
    cluster = await startChartCluster()
    ;({ plane, helm, balancer } = cluster)
    oldChart = await previousChart(plane.dir)
    values = deployedValues(balancer)
    await plane.apply([namespaceOf('default', { 'lodestone.dev/enforce': 'true' })])
  })
  afterAll(() => cluster?.stop())

  /** Creates VolumeManagers as dry runs until the signal; returns the responses of those that failed. */
  async function createManagers(signal: AbortSignal): Promise<{ created: number; failures: unknown[] }> {
    const result = { created: 0, failures: [] as unknown[] }
    while (!signal.aborted) {
      const { status, body } = await plane.api.request(
        'POST',
        `${managers}?dryRun=All`,
        manager(`load-${result.created}`),
      )
      if (status === 201) result.created++
      else result.failures.push({ status, body })
      await sleep(20)
    }
    return result
  }

  const registration = async () =>
    (await plane.getJson('mutatingwebhookconfigurations', 'lodestone')) as unknown as WebhookConfiguration | undefined
  const webhookNames = async () => (await registration())?.webhooks?.map(({ name }) => name) ?? []
  const version = async () => (await registration())?.metadata.annotations?.['lodestone.dev/version']
  const newerRegisters = async () => {
    if (isLong) await plane.eventually('the newer version registers', version, registrationTimeoutMs)
  }
  const crd = () => plane.getJson('crd', 'volumemanagers.vck.intelai.org')

  /** Starts the pod of the present Deployment, and then stops that of the Deployment before, as a rolling update. */
  async function roll(before: DeployedPod | undefined, name: string, entry: string): Promise<DeployedPod> {
    const pod = await startDeployed(plane, balancer, { name, entry })
    await before?.stop()
    return pod
  }

  test(
    'the previous chart is upgraded, rolled back and uninstalled; no request fails, and no object is lost',
    async () => {
      const upgrade = (...words: string[]) =>
        helm.run(['upgrade', 'lodestone', chart, '--reset-then-reuse-values', ...words])
      expect(await helm.run(['install', 'lodestone', oldChart], values)).toMatchObject({ code: 0 })
      await plane.crdsEstablished()
      let pod = await roll(undefined, 'before', oldEntry)
      await plane.eventually('the older version registers', async () => (await webhookNames()).length > 0)
      const ofOlder = await webhookNames()
      await plane.apply(manager('kept'))
      const before = await crd()
      const loading = new AbortController()
      onTestFinished(() => loading.abort())
      const load = createManagers(loading.signal)

      // The CRDs of the previous chart belong to no release.
      expect((await upgrade()).stderr).toContain('invalid ownership metadata')
      expect(await crd()).toEqual(before)

      expect(await upgrade('--take-ownership')).toMatchObject({ code: 0 })
      pod = await roll(pod, 'upgraded', main)
      await newerRegisters()
      expect((await crd())?.metadata).toMatchObject({
        annotations: { 'helm.sh/resource-policy': 'keep', 'meta.helm.sh/release-name': 'lodestone' },
        labels: { 'app.kubernetes.io/managed-by': 'Helm' },
      })
      expect(JSON.stringify(await crd())).toContain('preemptions')

      expect(await helm.run(['rollback', 'lodestone', '1'])).toMatchObject({ code: 0 })
      pod = await roll(pod, 'rolled-back', oldEntry)
      await plane.eventually('the older version registers again', async () =>
        isDeepStrictEqual(await webhookNames(), ofOlder),
      )
      expect(await plane.getJson('volumemanagers', 'kept', 'default')).toBeDefined()

      // In place of --take-ownership, which an older helm lacks.
      await runBlock(plane, ['docs/guides/upgrade.md', "objects='crd"])
      expect(await upgrade()).toMatchObject({ code: 0 })
      pod = await roll(pod, 'upgraded-again', main)
      await newerRegisters()
      // As every later upgrade.
      expect(await upgrade('--set', 'replicaCount=3')).toMatchObject({ code: 0 })
      loading.abort()
      const { created, failures } = await load
      expect(failures).toEqual([])
      expect(created).toBeGreaterThan(100)

      expect(await helm.run(['uninstall', 'lodestone', '--no-hooks'])).toMatchObject({ code: 0 })
      await pod.stop()
      expect(await registration()).toBeUndefined()
      expect(await plane.getJson('volumemanagers', 'kept', 'default')).toBeDefined()
      // The release of the same name finds its own CRDs.
      expect(await helm.run(['install', 'lodestone', chart], values)).toMatchObject({ code: 0 })
    },
    timeoutMs,
  )
}
