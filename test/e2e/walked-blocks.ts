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
const certificates = 'docs/guides/certificates.md'
const troubleshooting = 'docs/guides/troubleshooting.md'

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
  held: [troubleshooting, 'kubectl get rb -A'],
  reasons: ['docs/guides/status.md', 'lodestone status --held'],
  state: ['docs/guides/explain.md', 'lodestone explain deployment/trainer -n demo --folder examples/hub -o json'],
  unprotected: [troubleshooting, 'kubectl delete validatingadmissionpolicybindings'],
  events: ['docs/reference/events.md', 'kubectl get events'],
  report: [iceberg, 'kubectl create namespace sales'],
  table: [iceberg, 'kubectl apply -f examples/iceberg/source.yaml'],
  catalog: [iceberg, 'kubectl --context host'],
  ray: ['docs/tutorials/ray.md', 'kubectl create namespace vision'],
  upgrade: [upgrade, 'helm upgrade lodestone charts/lodestone --kube-context hub'],
  uninstall: [uninstall, 'lodestone uninstall --context hub'],
} satisfies Record<string, BlockName>

export const MEMBER = {
  begin: [volumes, 'cd "$(npm root'],
  helm: [volumes, 'helm install'],
  data: [volumes, 'kubectl create secret generic aws-creds'],
  certificate: [certificates, 'openssl'],
  certManager: [certificates, 'kubectl apply'],
  use: [volumes, "kubectl apply -f - <<'END'\napiVersion: apps/v1"],
  alerts: ['docs/guides/alerts.md', 'helm upgrade'],
  copy: ['docs/reference/removal.md', 'kubectl patch'],
  delete: [volumes, 'kubectl delete deployment trainer'],
  bucket: [bucket, 'kubectl create namespace vision'],
  refresh: [bucket, 'kubectl -n vision annotate vmgr'],
  empty: [bucket, 'kubectl -n vision delete job'],
  model: [models, 'kubectl label node'],
  servers: [models, 'kubectl apply -f examples/models/kserve.yaml'],
  again: [uninstall, 'kubectl -n lodestone-system annotate lease'],
  upgrade: [upgrade, 'helm upgrade lodestone charts/lodestone -n lodestone-system --reset-then-reuse-values --set'],
  uninstall: [uninstall, 'lodestone uninstall  '],
} satisfies Record<string, BlockName>
