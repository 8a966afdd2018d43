/** Mistakes in the arguments and the configuration file of `lodestone serve`. */
import { describe, test } from 'vitest'
import { checkMistake, type Mistake } from './mistakes.ts'

describe('serve', () => {
  test.each<Mistake>([
    { lodestone: 'serve @hub', says: 'unexpected argument @hub' },
    { lodestone: 'serve --folder @nowhere', says: 'the folder @nowhere does not exist' },
    { lodestone: 'serve --folder @hub/claim.yaml', says: '@hub/claim.yaml is not a folder' },
    {
      lodestone: 'serve --folder @hub --kubeconfig @kubeconfig/hub',
      says: '--folder and --kubeconfig exclude each other: a folder is used without a cluster',
    },
    {
      lodestone: 'serve --page',
      says: '--page needs --folder; the page of an API server is a process of its own: lodestone ui',
    },
    { lodestone: 'serve --port nine', says: '--port takes a port from 0 to 65535, not nine' },
    { lodestone: 'serve --health-port x', says: '--health-port takes a port from 0 to 65535, not x' },
    { lodestone: 'serve --port 94430', says: '--port takes a port from 0 to 65535, not 94430' },
    { lodestone: 'serve --port -1', says: '--port needs a value: --port=PORT' },
    { lodestone: 'serve --folder', says: '--folder needs a value: --folder=DIR' },
    { lodestone: 'serve --fodler @hub', says: 'unknown option --fodler (did you mean --folder?)' },
    {
      lodestone: 'serve --log-level inf',
      says: '--log-level takes one of trace, debug, info, warn, error, silent, not inf (did you mean info?)',
    },
    {
      lodestone: 'serve',
      says: 'no API server is given: $KUBECONFIG is not set, the command does not run in a pod; give --kubeconfig FILE',
    },
    { lodestone: 'serve --kubeconfig @nowhere', says: 'kubeconfig @nowhere: no such file or directory' },
    { lodestone: 'serve --kubeconfig @hub', says: 'kubeconfig @hub: is a directory, not a file' },
    {
      lodestone: 'serve --kubeconfig @kubeconfig/open',
      says: 'kubeconfig @kubeconfig/open cannot be read: deficient indentation (2:1)',
    },
    {
      lodestone: 'serve --kubeconfig @kubeconfig/no-context',
      says: 'kubeconfig @kubeconfig/no-context has no current-context, and no context was given',
    },
    {
      lodestone: 'serve --kubeconfig @kubeconfig/hub --context hbu',
      says: 'kubeconfig @kubeconfig/hub has no context hbu (it has: hub, half)',
    },
    {
      lodestone: 'serve --kubeconfig @kubeconfig/hub --context half',
      says: 'kubeconfig @kubeconfig/hub: context half names cluster gone, which is missing',
    },
    {
      lodestone: 'serve --kubeconfig @kubeconfig/address',
      says: 'kubeconfig @kubeconfig/address: 127.0.0.1:6443 of cluster hub is not an http or https URL',
    },
  ])('$lodestone', checkMistake)
})

describe('the configuration file', () => {
  test.each<Mistake>([
    { lodestone: 'serve --config @nowhere.yaml', says: '@nowhere.yaml: no such file or directory' },
    { lodestone: 'serve --config @hub', says: '@hub: is a directory, not a file' },
    {
      lodestone: 'serve --config @tabs.yaml',
      says: '@tabs.yaml:2: is not valid YAML: Tabs are not allowed as indentation',
    },
    {
      lodestone: 'serve --config @open.yaml',
      says: '@open.yaml:2: is not valid YAML: Flow sequence in block collection must be sufficiently indented and end with a ]',
    },
    { lodestone: 'serve --config @twice.yaml', says: '@twice.yaml:2: is not valid YAML: Map keys must be unique' },
    { lodestone: 'serve --config @list.yaml', says: '@list.yaml: (root): must be of type object' },
    { lodestone: 'serve --config @key.yaml', says: '@key.yaml: registration.mod: unknown field (did you mean mode?)' },
    {
      lodestone: 'serve --config @mode.yaml',
      says: '@mode.yaml: registration.mode: must be one of url, service, none (did you mean url?)',
    },
    {
      lodestone: 'serve --config @no-url.yaml',
      says: '@no-url.yaml: registration.url: is required with mode url, e.g. https://lodestone.lodestone-system.svc:443',
    },
    {
      lodestone: 'serve --config @http.yaml',
      says: '@http.yaml: registration.url: must be an https URL without user, query and fragment, e.g. https://lodestone.lodestone-system.svc:443',
    },
    { lodestone: 'serve --config @text-port.yaml', says: '@text-port.yaml: server.port: must be of type integer' },
    {
      lodestone: 'serve --config @large-port.yaml',
      says: '@large-port.yaml: server.port: must be less than or equal to 65535',
    },
    {
      lodestone: 'serve --config @few-bytes.yaml',
      says: '@few-bytes.yaml: server.maxBytesInFlight: must be at least 7Mi, the largest body',
    },
    {
      lodestone: 'serve --config @names.yaml',
      says: '@names.yaml: server.clientNames: needs server.clientCaFile, by which certificates are verified',
    },
    {
      lodestone: 'serve --config @hosts.yaml',
      says: '@hosts.yaml: certificates.hosts[0]: "10.0.0.7:9443" is neither a DNS name nor an IP address',
    },
    {
      lodestone: 'serve --config @volumes.yaml',
      says: '@volumes.yaml: volumes.allowedRoots[0]: must be an absolute path without ".", ".." and double slashes, e.g. /var/data; volumes.movers.keepFree: must be an amount of bytes such as 1Gi',
    },
    {
      lodestone: 'serve --config @watermarks.yaml',
      says: '@watermarks.yaml: volumes.eviction.lowWatermarkPercent: Invalid value: 80: must be less than highWatermarkPercent, which is 70',
    },
    {
      lodestone: 'serve --config @related.yaml',
      says: '@related.yaml: dependencies.related[0]: Invalid value: "NetworkPolcy": must be one of HorizontalPodAutoscaler, PodDisruptionBudget, NetworkPolicy, ServiceMonitor, HTTPRoute, SecretProviderClass, ResourceClaimTemplate, ResourceClaim, RoleBinding, Role (did you mean NetworkPolicy?)',
    },
    {
      lodestone: 'serve --config @distribution.yaml',
      says: '@distribution.yaml: dependencies.distribution: must be one of karmada, builtin, none (did you mean karmada?)',
    },
    {
      lodestone: 'serve --config @kinds.yaml',
      says: '@kinds.yaml: workloadKinds[0].templates[0]: Invalid value: "spec[template": must be a JSONPath, e.g. spec.tasks[*].template; not "[template"',
    },
  ])('$lodestone', checkMistake)
})
