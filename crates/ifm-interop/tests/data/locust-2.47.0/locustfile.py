from locust import HttpUser, task
class Chat(HttpUser):
    @task
    def chat(self):
        self.client.post("/v1/chat/completions", json={"model": "truth-model", "messages": [{"role": "user", "content": "go on"}]}, name="chat")
