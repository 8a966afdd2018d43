import { describe, expect, test } from 'vitest'
import { ABSENCE_POLICIES } from '../../api/admission-policy.ts'
import type { ResourceAccess } from '../../store/cluster/access-review.ts'
import { completeConfig } from '../config/config.ts'
import { grantedAccesses, podRolesFor, rolesFor } from './granted.ts'

/** The rights with which Lodestone gives rights to movers. */
const GRANTS = [
  'create serviceaccounts',
  'create rolebindings.rbac.authorization.k8s.io',
  'bind clusterroles.rbac.authorization.k8s.io lodestone-mover',
]
const inMovers = (accesses: string[]) => accesses.map((access) => `${access} in movers`)
const REGISTRATIONS = [
  'mutatingwebhookconfigurations.admissionregistration.k8s.io',
  'validatingwebhookconfigurations.admissionregistration.k8s.io',
  'resourceinterpreterwebhookconfigurations.config.karmada.io',
].flatMap((resource) => ['get', 'update'].map((verb) => `${verb} ${resource} lodestone`))
const POLICIES = ABSENCE_POLICIES.map(
  (name) => `update validatingadmissionpolicies.admissionregistration.k8s.io ${name}`,
)

const textOf = ({ verb, group, resource, subresource, name, namespace }: ResourceAccess) =>
  `${verb} ${resource}${subresource ? `/${subresource}` : ''}${group && `.${group}`}${name ? ` ${name}` : ''}${namespace ? ` in ${namespace}` : ''}`

const grantedTo = (config: object) => {
  const complete = completeConfig({ registration: { mode: 'service' }, ...config }, 'test')
  return grantedAccesses([...rolesFor(complete), ...podRolesFor(complete)]).map(textOf)
}

describe('Lodestone is granted', () => {
  const movers = { namespace: 'movers' }

  test.each([
    {
      what: 'with one namespace for movers: their Pods and copies of Secrets only there',
      config: { volumes: { enabled: true, movers } },
      has: [
        'create pods in movers',
        'create secrets in movers',
        'get pods/log in movers',
        'get serviceaccounts in movers',
        'get secrets',
      ],
      hasNot: [
        'create pods',
        'create secrets',
        'get secrets in movers',
        'get pods/log',
        ...GRANTS,
        ...inMovers(GRANTS),
      ],
    },
    {
      what: 'with volumes: Pods everywhere, and no Secrets',
      config: { volumes: { enabled: true }, dependencies: { distribution: 'none' } },
      has: ['create pods', 'get pods/log', 'create events', 'patch nodes', ...GRANTS],
      hasNot: ['get secrets', 'create secrets', 'list secrets'],
    },
    {
      what: 'with volumes whose logs are not collected: no logs of pods',
      config: { volumes: { enabled: true, movers: { logLines: 0 } } },
      has: ['create pods'],
      hasNot: ['get pods/log'],
    },
    {
      what: 'without a registration of its own: no webhook configurations',
      config: { registration: { mode: 'none' } },
      has: ['patch resourcebindings.work.karmada.io', 'create resourcebindings.work.karmada.io'],
      hasNot: REGISTRATIONS,
    },
    {
      what: 'without dependencies: no registration with the interpreter, and no new bindings',
      config: { dependencies: { distribution: 'none' } },
      has: ['update mutatingwebhookconfigurations.admissionregistration.k8s.io lodestone'],
      hasNot: [
        'update resourceinterpreterwebhookconfigurations.config.karmada.io lodestone',
        'create resourcebindings.work.karmada.io',
      ],
    },
    {
      what: 'without volumes: the removal of gates',
      config: {},
      has: ['patch pods', 'delete pods', 'update resourceinterpreterwebhookconfigurations.config.karmada.io lodestone'],
      hasNot: ['create pods', 'patch nodes'],
    },
    {
      what: 'with a ConfigMap of data systems: this one',
      config: { systems: { configMap: { namespace: 'platform', name: 'plugins' } } },
      has: ['get configmaps plugins in platform'],
      hasNot: ['get configmaps', 'get configmaps plugins', 'get configmaps in platform'],
    },
  ])('$what', ({ config, has, hasNot }) => {
    const granted = grantedTo(config)

    expect(granted).toEqual(expect.arrayContaining(has))
    expect(granted.filter((access) => hasNot.includes(access))).toEqual([])
  })

  test('without loops: only reads, its own registrations, and Events about them', () => {
    const granted = grantedTo({ loops: { enabled: false }, volumes: { enabled: true, movers } })
    const registrations = REGISTRATIONS.filter((access) => access.startsWith('update'))
    expect(granted.filter((access) => !/^(get|list|watch) /.test(access)).sort()).toEqual(
      [...registrations, ...POLICIES, 'create events'].sort(),
    )
  })

  test('nothing of the roles for users and for movers, which it does not have', () => {
    const granted = grantedTo({ volumes: { enabled: true } })

    expect(granted).not.toContain('patch events')
    expect(granted).not.toContain('deletecollection datasourceclaims.datadependency.volcano.sh')
  })
})
