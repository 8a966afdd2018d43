/** Lists for tests. */
import type { Lists } from './lists.ts'

export const EMPTY_LISTS: Lists = {
  waiting: [],
  workloads: [],
  claims: [],
  holds: [],
  volumes: [],
  replicas: [],
  moves: [],
  sources: [],
  systems: [],
  clusters: [],
}
