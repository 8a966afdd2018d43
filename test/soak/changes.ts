// The changes of users in the soak test: one at a time, from a seed.
import type { Random } from '../random.ts'
import type { World } from './world.ts'

type Workload = World['workloads'] extends Map<string, infer T> ? T : never
type Change = (world: World, random: Random, workload: Workload) => Promise<void> | void

const changes: readonly { weight: number; change: Change }[] = [
  { weight: 4, change: (world, _random, workload) => (workload.isRunning ? undefined : world.run(workload)) },
  { weight: 6, change: (world, random, { claims }) => world.moveData(random.pick(claims)) },
  { weight: 1, change: (world, random, { claims }) => world.loseData(random.pick(claims)) },
  { weight: 4, change: (world, _random, workload) => world.changePolicy(workload) },
  { weight: 4, change: (world, _random, workload) => world.scale(workload) },
  {
    weight: 3,
    change(world, random, workload) {
      const claim = random.pick(workload.claims)
      return claim.isPresent.current ? world.deleteClaim(workload, claim) : world.createClaim(workload, claim)
    },
  },
  { weight: 2, change: (world, _random, workload) => world.remove(workload) },
  { weight: 1, change: (world, random) => world.relabel(random.pick([...world.members.current.keys()])) },
]
const wheel = changes.flatMap(({ weight, change }) => Array.from({ length: weight }, () => change))

export async function changeSomething(world: World, random: Random, wanted: number): Promise<void> {
  if (world.workloads.size < wanted && random.chance(world.workloads.size < wanted / 2 ? 0.9 : 0.4)) {
    const workload = await world.prepare()
    // Half of them meet claims that every replica has known for long.
    if (random.chance(0.5)) await world.run(workload)
    return
  }
  const workloads = [...world.workloads.values()]
  if (workloads.length > 0) await random.pick(wheel)(world, random, random.pick(workloads))
}
