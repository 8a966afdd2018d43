/** Self-signed certificates for tests of TLS. */
import forge from 'node-forge'

export interface SelfSigned {
  cert: string
  key: string
}

/** Creates a certificate for names and addresses. A client trusts the server with this certificate as its CA. */
export function selfSigned(...hosts: string[]): SelfSigned {
  const { privateKey, publicKey } = forge.pki.rsa.generateKeyPair(2048)
  const certificate = forge.pki.createCertificate()
  const name = [{ name: 'commonName', value: 'data-system' }]
  certificate.publicKey = publicKey
  certificate.serialNumber = '01'
  certificate.validity.notAfter.setFullYear(certificate.validity.notBefore.getFullYear() + 1)
  certificate.setSubject(name)
  certificate.setIssuer(name)
  const altNames = hosts.map((host) => (/^[\d.]+$/.test(host) ? { type: 7, ip: host } : { type: 2, value: host }))
  certificate.setExtensions([
    { name: 'basicConstraints', cA: true },
    { name: 'subjectAltName', altNames },
  ])
  certificate.sign(privateKey, forge.md.sha256.create())
  return { cert: forge.pki.certificateToPem(certificate), key: forge.pki.privateKeyToPem(privateKey) }
}
