/** What volcano-global writes into objects of a hub (pkg/controller/datadependency/constants.go, pkg/webhooks/resourcebinding). */
import { groupOf } from '../../api/meta.ts'

/** The finalizers of its controller, on claims and on sources. */
export const UPSTREAM_CLAIM_FINALIZER = 'datadependency.volcano.sh/finalizer'
export const UPSTREAM_SOURCE_FINALIZER = 'datadependency.volcano.sh/datasource-finalizer'
/** On bindings: `"true"` after its controller has written exclusions. */
export const PLACEMENT_INJECTED_ANNOTATION = 'datadependency.volcano.sh/placement-injected'
/** On bindings: the exclusions that its controller has written, separated by commas. */
export const EXCLUDED_CLUSTERS_ANNOTATION = 'datadependency.volcano.sh/excluded-clusters'
/** On claims: a hint of its dispatcher. */
export const ASSOCIATED_BINDINGS_ANNOTATION = 'datadependency.volcano.sh/associated-rbs'
/** The entry of its webhook in a MutatingWebhookConfiguration. */
export const UPSTREAM_WEBHOOK = 'mutateresourcebindings.volcano.sh'

/** The workloads that its webhook suspends when their binding is created, as `group/kind`. */
const SUSPENDED_KINDS: ReadonlySet<string> = new Set([
  '/Pod',
  'apps/DaemonSet',
  'apps/Deployment',
  'apps/StatefulSet',
  'batch/CronJob',
  'batch/Job',
  'batch.volcano.sh/Job',
])

/** Whether its webhook suspends the bindings of a workload. */
export function isSuspendedKind({ apiVersion, kind }: { apiVersion: string; kind: string }): boolean {
  return SUSPENDED_KINDS.has(`${groupOf(apiVersion)}/${kind}`)
}

/** Returns the clusters that its controller has excluded from a binding. */
export function excludedClusters(annotations: Readonly<Record<string, string>> | undefined): ReadonlySet<string> {
  const names = annotations?.[EXCLUDED_CLUSTERS_ANNOTATION]?.split(',') ?? []
  return new Set(names.map((name) => name.trim()).filter((name) => name !== ''))
}
