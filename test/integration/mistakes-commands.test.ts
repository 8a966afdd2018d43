/** Mistakes with the commands that print, create, migrate and move. */
import { describe, test } from 'vitest'
import { checkMistake, type Mistake } from './mistakes.ts'

describe('manifests', () => {
  test.each<Mistake>([
    {
      lodestone: 'manifests crd',
      says: 'unknown part crd; expected crds, registration, rbac, volumes, interpreter, election, absence, uninstall, page (did you mean crds?)',
    },
    {
      lodestone: 'manifests --url 10.0.0.7:9443',
      says: '--url takes an https URL without user or query, e.g. https://10.0.0.7:9443, not 10.0.0.7:9443',
    },
    {
      lodestone: 'manifests --url http://10.0.0.7:9443',
      says: '--url takes an https URL without user or query, e.g. https://10.0.0.7:9443, not http://10.0.0.7:9443',
    },
    {
      lodestone: 'manifests --url https://10.0.0.7:94430',
      says: '--url takes an https URL without user or query, e.g. https://10.0.0.7:9443, not https://10.0.0.7:94430',
    },
    { lodestone: 'manifests --url', says: '--url needs a value: --url=URL' },
    { lodestone: 'manifests registration --ca @nowhere.crt', says: '--ca @nowhere.crt: no such file or directory' },
    {
      lodestone: 'manifests registration --ca @shopping.txt',
      says: '--ca @shopping.txt: has no certificate in PEM form; name the ca.crt of the certificates',
    },
    { lodestone: 'manifests registration --ca @hub', says: '--ca @hub: is a directory, not a file' },
    {
      lodestone: 'manifests --config @key.yaml',
      says: '@key.yaml: registration.mod: unknown field (did you mean mode?)',
    },
    {
      lodestone: 'manifests --write @shopping.txt',
      says: '--write: @shopping.txt/webhooks/manifests.yaml cannot be written: a part of the path is not a directory',
    },
    { lodestone: 'manifests -o yaml', says: 'unknown option -o' },
  ])('$lodestone', checkMistake)
})

describe('kubeconfig', () => {
  test.each<Mistake>([
    {
      lodestone: 'kubeconfig',
      says: 'no API server is given: $KUBECONFIG is not set, the command does not run in a pod, $HOME is not set; give --kubeconfig FILE',
    },
    {
      lodestone: 'kubeconfig --kubeconfig @kubeconfig/hub --context host -o secret',
      says: 'kubeconfig @kubeconfig/hub has no context host (it has: hub, half)',
    },
    {
      lodestone: 'kubeconfig --kubeconfig @kubeconfig/lost-ca',
      says: 'certificate-authority @kubeconfig/nowhere.crt of cluster hub: no such file or directory',
    },
    { lodestone: 'kubeconfig hub', says: 'unexpected argument hub' },
    {
      lodestone: 'kubeconfig -o secrets',
      says: '-o takes one of kubeconfig, secret, not secrets (did you mean secret?)',
    },
    { lodestone: 'kubeconfig --duration 30d', says: '--duration takes a duration such as 90s or 2m, not 30d' },
    { lodestone: 'kubeconfig --duration 5m', says: '--duration takes a duration from 10m to 87600h, not 5m' },
    { lodestone: 'kubeconfig --duration 99999h', says: '--duration takes a duration from 10m to 87600h, not 99999h' },
    {
      lodestone: 'kubeconfig --certificate-authority @shopping.txt',
      says: '--certificate-authority @shopping.txt: has no certificate in PEM form; name the CA of the API server',
    },
    {
      lodestone: 'kubeconfig -n lodestone-system',
      says: '-n is the namespace of the Secret; add -o secret, or omit it',
    },
    {
      lodestone: 'kubeconfig -o secret -n Demo_1',
      says: '-n Demo_1: must be lower-case letters, digits and "-", e.g. member-1',
    },
    { lodestone: 'kubeconfig --token abc', says: 'unknown option --token' },
  ])('$lodestone', checkMistake)
})

describe('certs', () => {
  test.each<Mistake>([
    { lodestone: 'certs new', says: 'unexpected argument new' },
    {
      lodestone: 'certs --directory @broken-certificates',
      status: 1,
      says: 'certificate folder @broken-certificates: ca.crt has no certificate (-----BEGIN CERTIFICATE-----); restore the folder, or delete it and restart; Lodestone then creates a new CA, which callers must trust',
    },
    {
      lodestone: 'certs --directory @shopping.txt',
      status: 1,
      says: 'certificate folder @shopping.txt cannot be read: a part of the path is not a directory; choose another one',
    },
    {
      lodestone: 'certs --config @key.yaml',
      says: '@key.yaml: registration.mod: unknown field (did you mean mode?)',
    },
    {
      lodestone: 'certs --config @no-certificates.yaml',
      status: 1,
      says: 'certificate folder nowhere: tls.crt is missing; put a certificate and its own key there, in PEM form without a passphrase; Lodestone reads them again after each change',
    },
    {
      lodestone: 'certs --config @no-certificates.yaml --renew',
      says: 'certificates.source is files: Lodestone does not renew nowhere; renew the files where they were issued',
    },
    {
      lodestone: 'certs --host 10.0.0.7:9443',
      says: '--host: "10.0.0.7:9443" is neither a DNS name nor an IP address',
    },
    {
      lodestone: 'certs --kubeconfig @kubeconfig/hub',
      says: '--kubeconfig needs certificates.source: secret in the configuration',
    },
    {
      lodestone: 'certs --config @secret.yaml',
      says: 'no API server is given: $KUBECONFIG is not set, the command does not run in a pod, $HOME is not set; give --kubeconfig FILE',
    },
    { lodestone: 'certs --renew=now', says: '--renew takes no value' },
  ])('$lodestone', checkMistake)
})

describe('migrate and uninstall', () => {
  test.each<Mistake>([
    { lodestone: 'migrate --kubeconfig @nowhere', says: 'kubeconfig @nowhere: no such file or directory' },
    { lodestone: 'migrate --aply', says: 'unknown option --aply (did you mean --apply?)' },
    { lodestone: 'migrate hub', says: 'unexpected argument hub' },
    { lodestone: 'uninstall --timeout soon', says: '--timeout takes a duration such as 90s or 2m, not soon' },
  ])('$lodestone', checkMistake)
})

describe('mover', () => {
  test.each<Mistake>([
    { lodestone: 'mover', says: 'expected one of download, upload, check, prepare, delete, not nothing' },
    {
      lodestone: 'mover downlaod',
      says: 'expected one of download, upload, check, prepare, delete, not downlaod (did you mean download?)',
    },
    { lodestone: 'mover download --target @hub/data', says: '--source is missing' },
    {
      lodestone: 'mover download --source lake/raw --root @hub --target @hub/data',
      says: '--source lake/raw: must be s3://bucket/key, or s3://bucket/prefix/ for all below it; or az://container/blob, or az://container/prefix/ for all below it',
    },
    {
      lodestone: 'mover download --source s3://lake/raw/ --root @hub --target @hub/data --part-size 8MB',
      says: '--part-size 8MB: must be an amount of bytes like 8Mi, at least 65536',
    },
    {
      lodestone: 'mover download --source s3://lake/raw/ --root @hub --target @hub/data --parallel many',
      says: '--parallel many: must be a whole number from 1 to 256',
    },
    {
      lodestone: 'mover download --source s3://lake/raw/ --root @hub --target @hub/data --verify md5',
      says: '--verify md5: must be checksum or size',
    },
    {
      lodestone: 'mover download --source s3://lake/raw/ --root @hub --target @hub/data --endpoint minio:9000',
      says: '--endpoint: must be a URL like https://s3.example.org, without credentials in it',
    },
    {
      lodestone: 'mover download --source s3://lake/raw/ --root @hub --target @hub/data --ca-file @nowhere.crt',
      says: '--ca-file @nowhere.crt: no such file or directory',
    },
    {
      lodestone: 'mover download --source s3://lake/raw/ --root @hub --target @hub/data --local-network loopback',
      says: '--local-network loopback: must be a network like 127.0.0.0/8',
    },
    {
      lodestone: 'mover download --source s3://lake/raw/ --root @hub --target @hub/data --delete-old yesterday',
      says: '--delete-old yesterday: must be all, or a time such as 2026-01-01T00:00:00Z',
    },
    {
      lodestone: 'mover upload --source @hub --root @hub --target results',
      says: '--target results: must be s3://bucket/key, or s3://bucket/prefix/ for all below it; or az://container/blob, or az://container/prefix/ for all below it',
    },
    { lodestone: 'mover delete --root @hub', says: '--target is missing' },
  ])('$lodestone', checkMistake)
})
