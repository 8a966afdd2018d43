import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type ControlPlane, startControlPlane } from './control-plane.ts'

describe('a cluster with nodes', () => {
  let plane: ControlPlane

  beforeAll(async () => {
    plane = await startControlPlane({
      karmada: false,
      nodes: { names: ['node-1', 'node-2'], movers: 'left alone' },
    })
  })
  afterAll(() => plane.stopAll())

  const spec = { containers: [{ name: 'main', image: 'busybox' }] }
  const labels = { app: 'web' }

  test('runs the pods of a Deployment where they may be, and anew when they are deleted', async () => {
    const pinned = { ...spec, nodeSelector: { 'kubernetes.io/hostname': 'node-2' } }
    await plane.apply({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'web' },
      spec: { replicas: 2, selector: { matchLabels: labels }, template: { metadata: { labels }, spec: pinned } },
    })
    const running = async () => {
      const pods = (await plane.listJson('pods', 'default')).filter(
        ({ metadata }) => metadata.labels?.['app'] === 'web',
      )
      return pods.length === 2 && pods.every(isRunningOn('node-2')) && pods
    }
    const pods = await plane.eventually('both run on node-2', running)
    await plane.kubectl(['delete', 'pod', pods[0]?.metadata.name ?? ''])
    const anew = await plane.eventually('both run again', running)
    expect(anew.map(({ metadata }) => metadata.name)).not.toContain(pods[0]?.metadata.name)
  })

  test('completes the pods of a Job', async () => {
    const template = { spec: { ...spec, restartPolicy: 'Never' } }
    await plane.apply({ apiVersion: 'batch/v1', kind: 'Job', metadata: { name: 'once' }, spec: { template } })
    await plane.eventually('the Job is complete', async () => {
      const job = (await plane.getJson('jobs', 'once', 'default')) as { status?: { succeeded?: number } } | undefined
      return job?.status?.succeeded === 1
    })
  })
})

function isRunningOn(node: string) {
  return (pod: object) => {
    const { spec, status } = pod as { spec: { nodeName?: string }; status: { phase?: string } }
    return spec.nodeName === node && status.phase === 'Running'
  }
}
