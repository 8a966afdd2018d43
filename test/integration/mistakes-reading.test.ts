/** Mistakes with the commands that read manifests and clusters. */
import { describe, test } from 'vitest'
import { checkMistake, type Mistake } from './mistakes.ts'

describe('snapshot', () => {
  test.each<Mistake>([
    {
      lodestone: 'snapshot --folder @empty',
      says: 'the folder @empty has no objects of a hub; give the folder of a hub',
    },
    {
      lodestone: 'snapshot --folder @hub -o @nowhere/fleet.lsnap',
      says: '@nowhere/fleet.lsnap cannot be written: no such file or directory',
    },
    { lodestone: 'snapshot --folder @hub -o @empty', says: '@empty cannot be written: is a directory, not a file' },
    {
      lodestone: 'snapshot --folder @hub --karmada-version new',
      says: '--karmada-version takes a version such as 1.17, not new',
    },
  ])('$lodestone', checkMistake)
})

describe('check', () => {
  test.each<Mistake>([
    { lodestone: 'check', says: 'missing -f FILE: a file, a folder, or - for standard input' },
    { lodestone: 'check -f', says: '--file needs a value: --file=FILE' },
    { lodestone: 'check -f @nowhere.yaml', says: '@nowhere.yaml does not exist' },
    {
      lodestone: 'check -f https://example.com/app.yaml',
      says: 'https://example.com/app.yaml is a URL, and only files are read; pipe its text into -f -',
    },
    {
      lodestone: 'check -f @hub --folder @hub --context hub',
      says: '--folder and --context exclude each other: a folder is used without a cluster',
    },
    {
      lodestone: 'check -f @empty',
      status: 1,
      prints: 'error: no manifest in @empty; check the path, and the command before a pipe (no-manifest)',
    },
    { lodestone: 'check -f @hub --folder @nowhere', says: 'the folder @nowhere does not exist' },
    {
      lodestone: 'check -f @hub -o jsno',
      says: '-o takes one of text, diff, json, yaml, junit, sarif, github, not jsno (did you mean json?)',
    },
    { lodestone: 'check -f @hub --fodler @hub', says: 'unknown option --fodler (did you mean --folder?)' },
    {
      lodestone: 'check -f @shopping.txt',
      status: 1,
      prints:
        '@shopping.txt:1:1: error: expected a Kubernetes object (apiVersion, kind, metadata.name), found a string (invalid-manifest)',
    },
    {
      lodestone: 'check -f @manifest/tabs.yaml',
      status: 1,
      prints:
        '@manifest/tabs.yaml:4:1: error: is not valid YAML: Tabs are not allowed as indentation (invalid-manifest)',
    },
    {
      lodestone: 'check -f @manifest/comments.json',
      status: 1,
      prints:
        '@manifest/comments.json:2:3: error: is not valid JSON or YAML: comments begin with #, not with // or /* (invalid-manifest)',
    },
    {
      lodestone: 'check -f @manifest/no-kind.yaml',
      status: 1,
      prints: '@manifest/no-kind.yaml:1:1: error: kind is missing: expected a kind of v1 (invalid-manifest)',
    },
    {
      lodestone: 'check -f @manifest/no-name.yaml',
      status: 1,
      prints:
        '@manifest/no-name.yaml:1:1: error: metadata.name is missing: ConfigMap needs a name (in quotes when it looks like a number) (invalid-manifest)',
    },
    {
      lodestone: 'check -f @manifest/values.yaml',
      status: 1,
      prints:
        '@manifest/values.yaml:1:1: error: is part of a Helm chart and no manifest; check the output of helm template (invalid-manifest)',
    },
    {
      lodestone: 'check -f @manifest/no-workload.yaml',
      status: 1,
      prints:
        '✘ DataSourceClaim demo/orders: denied\n    @manifest/no-workload.yaml:4:1: error: spec.workload: is required (denied-object)',
    },
    {
      lodestone: 'check -f @manifest/sytem.yaml',
      status: 1,
      prints:
        '✘ DataSourceClaim demo/orders: denied\n    @manifest/sytem.yaml:4:1: error: spec.system: is required (denied-object)\n    @manifest/sytem.yaml:4:9: error: spec.sytem: unknown field (did you mean system?) (denied-object)',
    },
    {
      lodestone: 'check -f @manifest/policy.yaml',
      status: 1,
      prints:
        '✘ DataSourceClaim demo/orders: denied\n    @manifest/policy.yaml:4:150: error: spec.policy: must be of type object (denied-object)',
    },
    {
      lodestone: 'check -f @manifest/no-selectors.yaml',
      status: 1,
      prints:
        '@manifest/no-selectors.yaml:4:1: error: PropagationPolicy demo/trainer: spec.resourceSelectors: is required (invalid-manifest)',
    },
    {
      lodestone: 'check -f @hub --fail-on warnings',
      says: '--fail-on takes one of rejected, held, warning, not warnings (did you mean warning?)',
    },
    {
      lodestone: 'check -f @manifest/source.yaml',
      status: 1,
      prints:
        '✘ DataSource orders: denied\n    @manifest/source.yaml:4:74: error: spec.locality.clusterName: unknown field (did you mean clusterNames?) (denied-object)',
    },
    {
      lodestone: 'check -f @manifest/annotation.yaml',
      status: 1,
      prints:
        '● Pod demo/trainer: allowed\n    @manifest/annotation.yaml:3:45: error: unknown annotation lodestone.dev/volume (did you mean lodestone.dev/volumes?) (ineffective-annotation)\n    @manifest/annotation.yaml:1:1: warning: no known policy or claim selects it, so nothing was decided; add them to the input (no-policy)',
    },
    {
      lodestone: 'check -f @manifest/volume.yaml',
      status: 1,
      prints:
        '✘ VolumeManager demo/mnist: denied\n    @manifest/volume.yaml:4:52: error: spec.volumeConfigs[0].sourceType: sourceType must be one of S3, NFS, Pachyderm, Local, Stream, AzureBlob. (denied-object)',
    },
  ])('$lodestone', checkMistake)
})

describe('explain', () => {
  test.each<Mistake>([
    { lodestone: 'explain', says: 'expected KIND/NAME or KIND NAME, e.g. deployment/trainer, not nothing' },
    { lodestone: 'explain trainer', says: 'expected KIND/NAME or KIND NAME, e.g. deployment/trainer, not trainer' },
    {
      lodestone: 'explain deploymnet/trainer --folder @hub',
      says: 'unknown kind deploymnet (did you mean deployment?); write another kind with its version and group, e.g. RayJob.v1.ray.io',
    },
    {
      lodestone: 'explain claim/app --folder @hub',
      says: 'unknown kind claim (known: persistentvolumeclaim, datasourceclaim); write another kind with its version and group, e.g. RayJob.v1.ray.io',
    },
    {
      lodestone: 'explain volume/app --folder @hub',
      says: 'unknown kind volume (known: persistentvolume, volumemanager); write another kind with its version and group, e.g. RayJob.v1.ray.io',
    },
    {
      lodestone: 'explain quux.example.com/app --folder @hub',
      says: 'unknown kind quux.example.com; write another kind with its version and group, e.g. RayJob.v1.ray.io',
    },
    {
      lodestone: 'explain cluster/member1 --folder @hub',
      says: 'explain has no decision about a Cluster; use kubectl describe clusters',
    },
    { lodestone: 'explain deployment/trainer -n demo --folder @nowhere', says: 'the folder @nowhere does not exist' },
    {
      lodestone: 'explain deployment/trainer -n demo --folder @hub --kubeconfig @kubeconfig/hub',
      says: '--folder and --kubeconfig exclude each other: a folder is used without a cluster',
    },
  ])('$lodestone', checkMistake)
})

describe('status', () => {
  test.each<Mistake>([
    { lodestone: 'status demo --folder @hub', says: 'unexpected argument demo' },
    { lodestone: 'status --wach --folder @hub', says: 'unknown option --wach (did you mean --watch?)' },
    {
      lodestone: 'status --system lake --volumes --folder @hub',
      says: '--system and --volumes exclude each other; volumes have no data system',
    },
    { lodestone: 'status --folder @hub -o tabel', says: '-o takes one of text, wide, json, yaml, not tabel' },
  ])('$lodestone', checkMistake)
})

describe('ui', () => {
  test.each<Mistake>([
    { lodestone: 'ui --folder @hub --port 70000', says: '--port takes a port from 0 to 65535, not 70000' },
    { lodestone: 'ui --folder @hub --port=-1', says: '--port takes a port from 0 to 65535, not -1' },
    {
      lodestone: 'ui --folder @hub --host https://fleet.example.org',
      says: '--host takes a host name, with a port if it has one, e.g. lodestone.example.org, not https://fleet.example.org',
    },
    {
      lodestone: 'ui --folder @hub --login token',
      says: '--login token asks an API server who its readers are; a folder has none',
    },
    { lodestone: 'ui --folder @hub --login password', says: '--login takes link or token, not password' },
    { lodestone: 'ui --folder @hub --address 0.0.0.0', says: '--address needs --login token' },
    { lodestone: 'ui --folder @hub --tls certs', says: '--tls needs --login token' },
    {
      lodestone: 'ui --login token --address localhost',
      says: '--address takes an IP address, such as 0.0.0.0, not localhost',
    },
    { lodestone: 'ui waiting --folder @hub', says: 'unexpected argument waiting' },
  ])('$lodestone', checkMistake)
})

describe('test, completion, version and kustomize-config', () => {
  test.each<Mistake>([
    { lodestone: 'test', says: 'missing DIR: a folder or a file with tests' },
    { lodestone: 'test @nowhere', says: '@nowhere does not exist' },
    { lodestone: 'test /dev/zero', says: '/dev/zero is not a file or a folder' },
    { lodestone: 'test @hub -o junt', says: '-o takes one of text, junit, json, not junt (did you mean junit?)' },
    { lodestone: 'completion', says: 'expected one of bash, zsh, fish, not nothing' },
    {
      lodestone: 'completion fsh',
      says: 'unknown shell fsh (did you mean zsh?); expected one of bash, zsh, fish',
    },
    { lodestone: 'version -o tabel', says: '-o takes one of text, json, yaml, not tabel' },
    { lodestone: 'kustomize-config x', says: 'unexpected argument x' },
  ])('$lodestone', checkMistake)
})

describe('check-install', () => {
  test.each<Mistake>([
    { lodestone: 'check-install --wait soon', says: '--wait takes a duration such as 90s or 2m, not soon' },
    { lodestone: 'check-install hub', says: 'unexpected argument hub' },
    {
      lodestone: 'check-install --service-account a/b/c',
      says: '--service-account takes NAMESPACE/NAME, e.g. lodestone-system/lodestone, not a/b/c',
    },
  ])('$lodestone', checkMistake)
})
