import { describe, expect, test } from 'vitest'
import { completeConfig } from '../config/config.ts'
import { type Access, accessesOf, podRolesFor, rolesFor } from './granted.ts'

const textOf = ({ verb, group, resource, subresource, name, namespace }: Access) =>
  `${verb} ${resource}${subresource ? `/${subresource}` : ''}${group && `.${group}`}${name ? ` ${name}` : ''}${namespace ? ` in ${namespace}` : ''}`

const grantedTo = (config: object) => {
  const complete = completeConfig(config, 'test')
  return accessesOf([...rolesFor(complete), ...podRolesFor(complete)]).map(textOf)
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
        'bind clusterroles.rbac.authorization.k8s.io lodestone-mover in movers',
        'get secrets',
      ],
      hasNot: ['create pods', 'create secrets', 'get secrets in movers'],
    },
    {
      what: 'with volumes: Pods everywhere, and no Secrets',
      config: { volumes: { enabled: true }, dependencies: { distribution: 'none' } },
      has: ['create pods', 'get pods/log', 'create events'],
      hasNot: ['get secrets', 'create secrets', 'list secrets'],
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

  test('nothing of the roles for users and for movers, which it does not have', () => {
    const granted = grantedTo({ volumes: { enabled: true } })

    expect(granted).not.toContain('patch events')
    expect(granted).not.toContain('deletecollection datasourceclaims.datadependency.volcano.sh')
  })
})
