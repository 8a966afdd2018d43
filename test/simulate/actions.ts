// The steps of a world, by value: a list of them repeats a run without its seed.
import type { CatalogAnswer } from './catalogs.ts'
import type { ApiObject, PurgeMode, Taint } from './karmada.ts'
import type { QueueAction } from './kueue.ts'
import type { PriceLink } from './prices.ts'
import type { ControllerAction } from './taint-manager.ts'

// The replica of Lodestone that answers the reviews of the step.
interface Reviewed {
  via: number
}

export type ComponentAction =
  // A reader receives changes of one kind.
  | { do: 'receive'; who: 'scheduler' | number; kind: string; count: number }
  | ({ do: 'reconcile'; loop: string; key: string } & Reviewed)
  | ({ do: 'detect'; kind: string; namespace: string; name: string } & Reviewed)
  | ({ do: 'schedule'; key: string } & Reviewed)
  | (ControllerAction & Reviewed)
  | QueueAction
  // The second half of `replace`: the object is gone, and is created again.
  | ({ do: 'recreate'; key: string } & Reviewed)

export interface ClusterChange {
  taints?: Taint[]
  ready?: boolean
  // The kinds that the cluster offers; the list may be incomplete.
  kinds?: string[]
  labels?: Record<string, string>
  // How many replicas of each workload have room in the cluster.
  room?: number
}

export type UserAction =
  // kubectl apply
  | ({ do: 'apply'; object: ApiObject } & Reviewed)
  | ({ do: 'delete'; kind: string; namespace?: string; name: string } & Reviewed)
  // kubectl replace --force
  | ({ do: 'replace'; object: ApiObject } & Reviewed)
  | ({ do: 'annotate'; key: string; annotation: string; value: string | null } & Reviewed)
  | { do: 'catalog'; data: string; answer: CatalogAnswer }
  | { do: 'cluster'; name: string; change: ClusterChange }
  | { do: 'join'; name: string }
  | { do: 'leave'; name: string }
  | { do: 'crd'; kind: string; served: boolean }
  | { do: 'restart'; what: 'detector' | 'scheduler' | 'leader' | 'replica' }
  // A WorkloadRebalancer of a workload.
  | ({ do: 'rebalance'; key: string } & Reviewed)
  // An application was unhealthy in a cluster for longer than its policy tolerates, and is well in the next one.
  | ({ do: 'fail'; key: string; cluster: string; purgeMode: PurgeMode; gracePeriodSeconds?: number } & Reviewed)
  // A user lets Karmada delete what applications have left (purge mode Never).
  | ({ do: 'purge'; key: string } & Reviewed)
  // Another client suspends the scheduling of a binding, or ends this.
  | ({ do: 'suspend'; key: string; value: boolean } & Reviewed)
  // Kueue evicts a Workload for another one.
  | { do: 'preempt'; key: string }
  // Lodestone starts again with other prices. The world is at rest before and after.
  | { do: 'prices'; links: PriceLink[] }
  | { do: 'advance'; ms: number }
  // Components finish everything that they can do now.
  | { do: 'settle' }
  // Users and failures pause until everything is at rest.
  | { do: 'rest' }

// An action about which `what-if` is asked first.
export type AskedAction = Extract<UserAction, { do: 'apply' | 'delete' | 'catalog' | 'cluster' | 'leave' }>

// The question, the action, and the comparison afterwards. The world is at rest before and after.
export interface Question {
  do: 'ask'
  action: AskedAction
}

export type Action = ComponentAction | UserAction | Question

// The settings of a world.
export interface WorldConfig {
  clusters: number
  failover: 'Off' | 'Gracefully' | 'Directly'
  maxMovesPerMinute: number
  // The price matrix at the start; absent in a world without prices.
  links?: readonly PriceLink[]
  // Whether the room of clusters changes.
  rooms?: boolean
  // Whether users scale workloads to zero, and rebalance them.
  scales?: boolean
  // Whether some policies apply only when their workload changes.
  lazy?: boolean
  // Whether policies have static weights, spread constraints of regions, and three groups.
  shapes?: boolean
  // Whether applications fail, so that Karmada evicts them.
  fails?: boolean
  // Whether StatefulSets have components in place of replicas.
  components?: boolean
  // Whether StatefulSets have templates of PersistentVolumeClaims, whose claims do not follow them.
  templates?: boolean
  // Whether there are ClusterPropagationPolicies, and policies take workloads over from each other.
  preempts?: boolean
  // Whether other clients suspend the scheduling of workloads.
  suspends?: boolean
  // Whether Karmada is older than 1.18, and gives a lack of room no reason of its own.
  hasOldReasons?: boolean
  // Whether the replicas cannot read the version of Karmada. Otherwise they know its rules.
  hidesVersion?: boolean
  // Whether Kueue queues Jobs, and Lodestone nominates their worker clusters.
  queues?: boolean
  // Whether policies tolerate taints for some seconds.
  tolerates?: boolean
  // Whether some users follow a plan (stories.ts).
  stories?: boolean
  // Whether `what-if` is asked about some actions.
  asks?: boolean
  // Guarantees that are not checked.
  ignored?: readonly string[]
}
