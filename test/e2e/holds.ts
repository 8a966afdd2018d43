// Stands for the scheduler and the agents of members, for workloads on hold while Lodestone is away.
import type { ControlPlane } from './control-plane.ts'
import { bindings, type Work } from './hub.ts'

/** Writes the clusters of a binding as a scheduler does that does not honor the hold. */
export async function scheduleBeside(plane: ControlPlane, name: string, cluster: string): Promise<void> {
  const patch = JSON.stringify({ spec: { clusters: [{ name: cluster }] } })
  await plane.kubectl(['patch', 'rb', `${name}-deployment`, '--type=merge', '-p', patch])
}

/** Reports that the workload was applied, as the agent of the member does. Returns once Karmada aggregates it. */
export async function reportApplied(plane: ControlPlane, name: string, cluster: string): Promise<void> {
  const namespace = `karmada-es-${cluster}`
  const work = await plane.eventually('its Work is made', async () => {
    const works = (await plane.listJson('works.work.karmada.io', namespace)) as Work[]
    return works.find(({ spec }) => spec.workload.manifests.some(({ metadata }) => metadata.name === name))
  })
  const applied = { type: 'Applied', status: 'True', reason: 'AppliedSuccessful', message: '' }
  const conditions = [{ ...applied, lastTransitionTime: '2026-01-01T00:00:00Z' }]
  const patch = JSON.stringify({ status: { conditions } })
  const object = ['work', work.metadata.name, '-n', namespace, '--subresource=status']
  await plane.kubectl(['patch', ...object, '--type=merge', '-p', patch])
  await plane.eventually('Karmada aggregates it', async () => {
    const binding = await plane.getJson(bindings, `${name}-deployment`, 'default')
    const { status } = binding as { status?: { aggregatedStatus?: { applied?: boolean }[] } }
    return status?.aggregatedStatus?.some((member) => member.applied)
  })
}
