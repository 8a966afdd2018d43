import { describe, expect, test } from 'vitest'
import type { ServerAddress } from '../../store/cluster/connection.ts'
import { type AddressOptions, planCluster } from './cluster.ts'

const base64 = (text: string) => Buffer.from(text).toString('base64')
const server = 'https://hub.example.org:5443'
const own: ServerAddress = { server, ca: 'own CA' }

interface Case {
  name: string
  address?: Partial<ServerAddress>
  options?: AddressOptions
  want: object
}

test.each<Case>([
  { name: 'has the CA as data', want: { 'certificate-authority-data': base64('own CA') } },
  { name: 'has no CA if the CAs of Node.js are trusted', address: { ca: '' }, want: {} },
  {
    name: 'keeps the path of a proxy such as Rancher, without the last slash',
    address: { server: 'https://hub.example.org/k8s/clusters/c-1/' },
    want: { server: 'https://hub.example.org/k8s/clusters/c-1', 'certificate-authority-data': base64('own CA') },
  },
  {
    name: 'has no user of the address',
    address: { server: 'https://admin:secret@hub.example.org:5443?token=secret' },
    want: { 'certificate-authority-data': base64('own CA') },
  },
  {
    name: 'keeps the server name and the proxy',
    address: { tlsServerName: 'karmada-apiserver', proxyUrl: 'http://proxy.example.org:3128' },
    want: {
      'certificate-authority-data': base64('own CA'),
      'tls-server-name': 'karmada-apiserver',
      'proxy-url': 'http://proxy.example.org:3128',
    },
  },
  {
    name: 'has neither of them at another address, as in kubectl',
    address: { tlsServerName: 'karmada-apiserver', proxyUrl: 'http://admin:secret@proxy.example.org:3128' },
    options: { server: 'https://10.0.0.7:5443/' },
    want: { server: 'https://10.0.0.7:5443', 'certificate-authority-data': base64('own CA') },
  },
  {
    name: 'has the server name and the CA of the options',
    address: { tlsServerName: 'other' },
    options: { tlsServerName: 'karmada-apiserver', ca: 'given CA' },
    want: { 'certificate-authority-data': base64('given CA'), 'tls-server-name': 'karmada-apiserver' },
  },
  {
    name: 'verifies the certificate if a CA is given',
    address: { isUnverified: true, ca: '' },
    options: { ca: 'given CA' },
    want: { 'certificate-authority-data': base64('given CA') },
  },
])('the cluster $name', ({ address, options = {}, want }) => {
  const { ca, ...fields } = { ...own, ...address }
  const planned = planCluster({ ...fields, ...(ca && { ca }) }, options, false)
  expect(planned).toEqual({ entry: { server, ...want }, warnings: [] })
})

describe('a kubeconfig for pods warns of', () => {
  test.each(['127.0.0.1', 'localhost', '[::1]', '0.0.0.0', 'hub.localhost'])('the loopback address %s', (host) => {
    const address = { ...own, server: `https://${host}:5443` }
    expect(planCluster(address, {}, true).warnings).toEqual([
      expect.stringMatching(/which pods do not reach; give --server URL, e\.g\. https:\/\/karmada-apiserver/),
    ])
    expect(planCluster(address, {}, false).warnings).toEqual([])
    expect(planCluster(address, { server: 'https://10.0.0.7:5443' }, true).warnings).toEqual([])
  })

  test('a proxy that the pods need too', () => {
    const address = { ...own, proxyUrl: 'socks5://127.0.0.1:1080' }
    expect(planCluster(address, {}, true).warnings).toEqual([
      'proxy-url: pods must reach the proxy socks5://127.0.0.1:1080; give --server URL for an address without it',
    ])
  })
})

test('a certificate that is not verified is a warning for every reader', () => {
  const { entry, warnings } = planCluster({ server, isUnverified: true }, {}, false)
  expect(entry).toEqual({ server, 'insecure-skip-tls-verify': true })
  expect(warnings).toEqual([
    'insecure-skip-tls-verify: the certificate of the server is not verified; give --certificate-authority FILE',
  ])
})

describe('refuses', () => {
  test.each<{ name: string; address?: Partial<ServerAddress>; options?: AddressOptions; want: string }>([
    {
      name: 'an address without TLS, such as that of kubectl proxy',
      address: { server: 'http://127.0.0.1:8001' },
      want: 'the address http://127.0.0.1:8001 is not https, so that no token may be sent to it; give --server URL',
    },
    {
      name: 'a proxy with a password',
      address: { proxyUrl: 'http://admin:secret@proxy.example.org:3128' },
      want: 'proxy-url of the kubeconfig has a user, whose password would be copied; give --server URL for an address without the proxy',
    },
    ...['10.0.0.7:5443', 'http://10.0.0.7', 'https://u@10.0.0.7', 'https://10.0.0.7?a=b', 'karmada'].map((text) => ({
      name: `--server ${text}`,
      options: { server: text },
      want: `--server takes an https URL without user or query, e.g. https://karmada-apiserver.karmada-system.svc:5443, not ${text}`,
    })),
  ])('$name', ({ address, options = {}, want }) => {
    expect(() => planCluster({ ...own, ...address }, options, true)).toThrow(want)
  })
})
