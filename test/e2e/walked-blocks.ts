/** The shell blocks that walk.full.test.ts runs, on a hub and on a member. */
import type { BlockName } from '../shell-blocks.ts'

const install = 'docs/guides/install.md'
const hub = 'docs/tutorials/getting-started-hub.md'
const volumes = 'docs/tutorials/getting-started-volumes.md'
const upgrade = 'docs/guides/upgrade.md'
const uninstall = 'docs/guides/uninstall.md'
const bucket = 'docs/tutorials/bucket.md'
const iceberg = 'docs/tutorials/iceberg.md'
const models = 'docs/tutorials/models.md'

export const HUB = {
  install: [install, 'npm pack'],
  plugin: [install, 'kubectl plugin list'],
  begin: [hub, 'cd "$(npm root'],
  helm: [hub, 'helm install'],
  check: [hub, 'lodestone check-install --context hub'],
  status: [install, 'lodestone status --kubeconfig'],
  hold: [hub, 'kubectl create namespace demo'],
  data: [hub, 'kubectl apply -f examples/hub/source.yaml'],
  enforce: [hub, 'kubectl label namespace demo'],
  dependencies: [hub, 'kubectl -n demo create configmap'],
  renewal: [hub, 'lodestone kubeconfig --context hub -o secret'],
  url: [hub, 'curl'],
  held: ['docs/guides/troubleshooting.md', 'kubectl get rb -A'],
  events: ['docs/reference/events.md', 'kubectl get events'],
  iceberg: [iceberg, 'kubectl create namespace sales'],
  upgrade: [upgrade, 'helm upgrade lodestone charts/lodestone --kube-context hub'],
  uninstall: [uninstall, 'lodestone uninstall --context hub'],
} satisfies Record<string, BlockName>

export const MEMBER = {
  begin: [volumes, 'cd "$(npm root'],
  helm: [volumes, 'helm install'],
  data: [volumes, 'kubectl create secret generic aws-creds'],
  use: [volumes, "kubectl apply -f - <<'END'\napiVersion: apps/v1"],
  delete: [volumes, 'kubectl delete deployment trainer'],
  bucket: [bucket, 'kubectl create namespace vision'],
  refresh: [bucket, 'kubectl -n vision annotate vmgr'],
  empty: [bucket, 'kubectl -n vision delete job'],
  model: [models, 'kubectl label node'],
  upgrade: [upgrade, 'helm upgrade lodestone charts/lodestone -n lodestone-system --reset-then-reuse-values --set'],
  uninstall: [uninstall, 'lodestone uninstall  '],
} satisfies Record<string, BlockName>
