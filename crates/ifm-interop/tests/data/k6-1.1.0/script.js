import http from 'k6/http';
export const options = { vus: 3, iterations: 12 };
export default function () {
  const body = { model: 'mock', messages: [{ role: 'user', content: 'a b c' }], max_tokens: 16, stream: true };
  const path = __ITER === 2 ? '/nowhere' : '/v1/chat/completions';
  http.post(__ENV.URL + path, JSON.stringify(body), { headers: { 'Content-Type': 'application/json' } });
}
