// Runs worlds: from a seed, or from a list of actions. A failed list is shrunk to the fewest actions that fail in the same way.
import { type Random, randomFrom } from '../random.ts'
import type { Action, WorldConfig } from './actions.ts'
import { pickWeighted } from './pick.ts'
import { chooseLinks } from './prices.ts'
import { chooseQuestion } from './questions.ts'
import { Users } from './stories.ts'
import { Violation } from './violation.ts'
import { clusterNamesOf, World } from './world.ts'

export interface Run {
  config: WorldConfig
  actions: Action[]
  failure?: Violation
}

// The chance that a component acts, and not a user, while some component has something to do.
const COMPONENT_CHANCE = 0.85
// The share of worlds with prices.
const PRICED_CHANCE = 0.125
// The share of worlds whose clusters lose room.
const ROOM_CHANCE = 0.25
// The share of worlds whose policies tolerate taints for some seconds.
const TOLERANT_CHANCE = 0.125
// The share of worlds with Kueue.
const QUEUED_CHANCE = 0.125
// The share of worlds whose users scale workloads to zero and rebalance them.
const SCALED_CHANCE = 0.25
// The share of worlds with lazy policies.
const LAZY_CHANCE = 0.25
// The share of worlds whose policies have static weights, spread constraints of regions, and three groups.
const SHAPED_CHANCE = 0.25
// The share of worlds whose applications fail.
const FAILING_CHANCE = 0.125
// The share of worlds whose StatefulSets have components in place of replicas.
const COMPOUND_CHANCE = 0.125
// The share of worlds whose StatefulSets have templates of PersistentVolumeClaims.
const TEMPLATED_CHANCE = 0.125
// The share of worlds with ClusterPropagationPolicies, and policies that take workloads over from each other.
const PREEMPTING_CHANCE = 0.125
// The share of worlds where other clients suspend the scheduling of workloads.
const SUSPENDED_CHANCE = 0.125
// The share of worlds whose replicas do not know the version of Karmada.
const HIDDEN_CHANCE = 0.125
// Between two questions, users bring the world into another state.
const ASK_CHANCE = 0.02

export function configOf(seed: number, { asks = false }: Pick<WorldConfig, 'asks'> = {}): WorldConfig {
  const random = randomFrom(seed)
  const clusters = 3 + random.below(2)
  const failover = random.pick(['Off', 'Gracefully', 'Directly'] as const)
  const prices = pricesOf(seed, clusters)
  const rooms = roomsOf(seed, { asks, ...prices })
  const tolerations = tolerationsOf(seed, { asks, failover, ...prices })
  const queues = queuesOf(seed, { asks })
  const scales = scalesOf(seed, prices)
  const lazy = lazinessOf(seed, prices)
  const others = othersOf(seed, prices)
  const hidden = hiddenOf(seed, { asks })
  return {
    clusters,
    failover,
    maxMovesPerMinute: 2,
    ...prices,
    ...rooms,
    ...tolerations,
    ...queues,
    ...scales,
    ...lazy,
    ...others,
    ...hidden,
  }
}

// Chosen with other random numbers than everything else, so that the other worlds are as they would be without prices.
function pricesOf(seed: number, clusters: number): Pick<WorldConfig, 'links'> {
  const random = randomFrom(seed ^ 0xc057)
  return random.chance(PRICED_CHANCE) ? { links: chooseLinks(clusterNamesOf(clusters), random) } : {}
}

// Chosen with other random numbers, as the prices. What-if and the order of costs do not know the room of clusters.
function roomsOf(
  seed: number,
  { asks, links }: Pick<WorldConfig, 'asks' | 'links'>,
): Pick<WorldConfig, 'rooms' | 'hasOldReasons'> {
  const random = randomFrom(seed ^ 0x4003)
  return !asks && !links && random.chance(ROOM_CHANCE) ? { rooms: true, hasOldReasons: random.chance(0.5) } : {}
}

// Chosen with other random numbers, as the prices. Without failover, Karmada does not evict. A workload that comes and goes has no costs.
function tolerationsOf(
  seed: number,
  { asks, failover, links }: Pick<WorldConfig, 'asks' | 'failover' | 'links'>,
): Pick<WorldConfig, 'tolerates'> {
  const tolerates = !asks && !links && failover !== 'Off' && randomFrom(seed ^ 0x701e).chance(TOLERANT_CHANCE)
  return tolerates ? { tolerates } : {}
}

// Chosen with other random numbers, as the prices.
function queuesOf(seed: number, { asks }: Pick<WorldConfig, 'asks'>): Pick<WorldConfig, 'queues'> {
  return !asks && randomFrom(seed ^ 0x9e0e).chance(QUEUED_CHANCE) ? { queues: true } : {}
}

// Chosen with other random numbers, as the prices. A command reads the rules, or ends.
function hiddenOf(seed: number, { asks }: Pick<WorldConfig, 'asks'>): Pick<WorldConfig, 'hidesVersion'> {
  return !asks && randomFrom(seed ^ 0x41de).chance(HIDDEN_CHANCE) ? { hidesVersion: true } : {}
}

// Chosen with other random numbers, as the prices. Without replicas, a workload has no costs.
function scalesOf(seed: number, { links }: Pick<WorldConfig, 'links'>): Pick<WorldConfig, 'scales'> {
  return !links && randomFrom(seed ^ 0x5ca1e).chance(SCALED_CHANCE) ? { scales: true } : {}
}

// Chosen with other random numbers, as the prices. The order of costs reads the policy, and not what was applied of it.
function lazinessOf(seed: number, { links }: Pick<WorldConfig, 'links'>): Pick<WorldConfig, 'lazy'> {
  return !links && randomFrom(seed ^ 0x1a2e).chance(LAZY_CHANCE) ? { lazy: true } : {}
}

// Chosen with other random numbers, as the prices. The order of costs does not know these.
function othersOf(
  seed: number,
  { links }: Pick<WorldConfig, 'links'>,
): Pick<WorldConfig, 'shapes' | 'fails' | 'suspends' | 'preempts' | 'components' | 'templates'> {
  if (links) return {}
  const isChosen = (name: string, salt: number, share: number) =>
    randomFrom(seed ^ salt).chance(share) ? { [name]: true } : {}
  const components = isChosen('components', 0xc03d, COMPOUND_CHANCE)
  return {
    ...isChosen('shapes', 0x54a9e, SHAPED_CHANCE),
    ...isChosen('fails', 0xfa11, FAILING_CHANCE),
    // A kind has components or replicas, and stories scale StatefulSets by replicas.
    ...(components['components'] ? components : isChosen('templates', 0x7e30, TEMPLATED_CHANCE)),
    ...isChosen('preempts', 0x93e3, PREEMPTING_CHANCE),
    ...isChosen('suspends', 0x5059, SUSPENDED_CHANCE),
  }
}

// Runs one world until it has made `limit` steps or a guarantee is broken. The same seed gives the same actions.
export async function runSeed(
  seed: number,
  limit: number,
  log?: (line: string) => void,
  ignored: readonly string[] = [],
  { stories = false, asks = false }: Pick<WorldConfig, 'stories' | 'asks'> = {},
): Promise<Run> {
  // Rare states and random ones: users follow plans in every second world only.
  const config = { ...configOf(seed, { asks }), ignored, stories: stories && seed % 2 === 1, asks }
  const random = randomFrom(seed ^ 0x5eed)
  // Some components are slow in one world and fast in another.
  const weights = Array.from({ length: 8 }, () => 0.05 + random.next() ** 2)
  const world = new World(config)
  const users = new Users(config)
  const actions: Action[] = []
  return perform(
    world,
    actions,
    () => (actions.length < limit ? choose(world, users, random, weights) : undefined),
    log,
  )
}

// Runs a list of actions in a new world.
export async function replay(config: WorldConfig, list: readonly Action[], log?: (line: string) => void): Promise<Run> {
  const rest = [...list]
  return perform(new World(config), [], () => rest.shift(), log)
}

async function perform(
  world: World,
  actions: Action[],
  next: () => Action | undefined,
  log?: (line: string) => void,
): Promise<Run> {
  try {
    for (let action = next(); action; action = next()) {
      actions.push(action)
      log?.(`${actions.length} ${new Date(world.clock.now()).toISOString()} ${JSON.stringify(action)}`)
      await world.perform(action)
    }
    return { config: world.config, actions }
  } catch (error) {
    const failure =
      error instanceof Violation ? error : new Violation('no-fault', (error as Error).stack ?? String(error))
    log?.(`failed: ${failure.message}`)
    return { config: world.config, actions, failure }
  } finally {
    world.stop()
  }
}

function choose(world: World, users: Users, random: Random, weights: readonly number[]): Action {
  const busy = world
    .pending(() => random.below(2))
    .flatMap((actions, i) => (actions.length > 0 ? [[weights[i] ?? 1, actions] as const] : []))
  const question = world.config.asks && random.chance(ASK_CHANCE) ? chooseQuestion(world, random) : undefined
  if (question) return { do: 'ask', action: question }
  if (busy.length === 0 || !random.chance(COMPONENT_CHANCE)) return users.next(world, random)
  const action = random.pick(pickWeighted(busy, random))
  return action.do === 'receive' ? { ...action, count: random.pick([1, 1, 2, 10]) } : action
}
