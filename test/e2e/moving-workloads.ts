// A plane that records all placements, and Deployments that run in one of its clusters: where their data is, or beside it.
import { type ControlPlane, startControlPlane } from './control-plane.ts'
import { type Hub, hubOn } from './hub.ts'
import { installLodestone, type Lodestone, startLodestone } from './lodestone.ts'
import { claim, deployment, policy, type SpecObject, source } from './manifests.ts'
import { type Placements, watchPlacements } from './placements.ts'
import { stopAndCheckRights } from './rights.ts'

type PlaneOptions = NonNullable<Parameters<typeof startControlPlane>[0]>

export interface Stage {
  plane: ControlPlane
  hub: Hub
  lodestone: Lodestone
  placements: Placements
}

export async function startStage(options: PlaneOptions, config: Record<string, unknown> = {}): Promise<Stage> {
  const plane = await startControlPlane(options)
  const lodestone = await startLodestone(plane, { kubeconfig: await installLodestone(plane), config })
  return { plane, hub: hubOn(plane), lodestone, placements: await watchPlacements(plane) }
}

/** Stops what was started, and fails if Lodestone needed a right that it does not have. */
export async function stopStage(stage: Stage | undefined): Promise<void> {
  await stage?.placements.stop()
  await stopAndCheckRights({ plane: stage?.plane, lodestones: [stage?.lodestone] })
}

/** All three clusters are allowed, and the scheduler chooses one: that in which the workload is, or the first. */
export const inOneCluster = {
  clusterAffinity: { clusterNames: ['member1', 'member2', 'member3'] },
  spreadConstraints: [{ spreadByField: 'cluster', minGroups: 1, maxGroups: 1 }],
}

/** Creates a Deployment whose data is in a cluster, with a policy of its claim; returns when it runs there. */
export async function runWithData(
  { hub, placements }: Stage,
  name: string,
  cluster: string,
  claimPolicy: object = {},
): Promise<SpecObject> {
  const workload = deployment(name)
  await hub.apply(
    claim(name, { data: name, policy: claimPolicy }),
    source(name, [cluster]),
    policy(name, { placement: inOneCluster }),
    workload,
  )
  await placements.isIn(workload, cluster)
  return workload
}

/** Returns when the scheduler has looked at every binding that was written before: it takes them from its queue in order. */
export async function schedulerIsIdle({ plane, hub }: Stage, name: string): Promise<void> {
  await hub.apply(policy(name), deployment(name))
  await plane.eventually(
    `${name} is scheduled`,
    async () => (await hub.bindingOf(deployment(name)))?.spec.clusters?.[0],
  )
}

/** Our annotations on the binding, as text: the state and the reason. */
export async function decisionOn({ hub }: Stage, workload: SpecObject): Promise<string> {
  const { annotations = {} } = (await hub.bindingOf(workload))?.metadata ?? {}
  return `${annotations['lodestone.dev/locality'] ?? ''}${annotations['lodestone.dev/hold'] ?? ''}`
}
